"""Nexmark's queries for Pathway, in its Table API; its SQL has no windows, ranks or functions.

Times are whole microseconds since 1970. There are no decimals, so converted prices are floating-point
numbers. Where Pathway has no operator for something (moving averages, the first ten of a group) a Python
function does it on the tuple of a group's rows.
"""

from __future__ import annotations

from typing import Any

import pathway as pw

SECOND = 1_000_000
Table = Any  # its columns are attributes
RANKS = ((0, 10_000), (10_000, 1_000_000), (1_000_000, 2**62))


def q00(bid: Table) -> Table:
    return bid.select(bid.auction, bid.bidder, bid.price, bid.date_time, bid.extra)


def q01(bid: Table) -> Table:
    return bid.select(
        bid.auction, bid.bidder, price=0.908 * bid.price, date_time=bid.date_time, extra=bid.extra
    )


def q02(bid: Table) -> Table:
    return bid.filter(bid.auction % 123 == 0).select(pw.this.auction, pw.this.price)


def q03(auction: Table, person: Table) -> Table:
    a = auction.filter(auction.category == 10)
    p = person.filter((person.state == "OR") | (person.state == "ID") | (person.state == "CA"))
    return a.join(p, a.seller == p.ident).select(p.name, p.city, p.state, a.ident)


def _expanded(auction: Table, bid: Table) -> tuple[Table, Table]:
    """Both with names that tell their columns apart."""
    a = auction.rename_columns(auction_time=auction.date_time, auction_extra=auction.extra)
    return a, bid.rename_columns(bid_time=bid.date_time, bid_extra=bid.extra)


def _in_time(joined: Table) -> Table:
    return joined.filter((joined.bid_time >= joined.auction_time) & (joined.bid_time <= joined.expires))


def _winning(auction: Table, bid: Table) -> Table:
    """Of each auction the highest bid made while it was open, and of those the first."""
    a, b = _expanded(auction, bid)
    b = b.without(b.channel, b.url)
    valid = _in_time(a.join(b, a.ident == b.auction).select(*a, *b))
    best = valid.groupby(valid.ident).reduce(
        row=pw.reducers.argmax(pw.make_tuple(valid.price, -valid.bid_time))
    )
    return valid.ix(best.row)


def q04(auction: Table, bid: Table) -> Table:
    a, b = _expanded(auction, bid)
    columns = (a.ident, a.category, a.auction_time, a.expires, b.price, b.bid_time)
    valid = _in_time(a.join(b, a.ident == b.auction).select(*columns))
    final = valid.groupby(valid.ident, valid.category).reduce(
        valid.category, final=pw.reducers.max(valid.price)
    )
    return final.groupby(final.category).reduce(final.category, average=pw.reducers.avg(final.final))


def q05(bid: Table) -> Table:
    window = pw.temporal.sliding(hop=2 * SECOND, duration=10 * SECOND)
    counts = bid.windowby(bid.date_time, window=window, instance=bid.auction).reduce(
        auction=pw.this._pw_instance, starttime=pw.this._pw_window_start, num=pw.reducers.count()
    )
    most = counts.groupby(counts.starttime).reduce(counts.starttime, maxn=pw.reducers.max(counts.num))
    return counts.join(most, counts.starttime == most.starttime, counts.num == most.maxn).select(
        counts.auction, counts.num, counts.starttime
    )


def _moving(rows: tuple[tuple[int, int, int], ...]) -> list[tuple[int, float]]:
    found = []
    for place, (_, ident, _) in enumerate(rows):
        last = [price for _, _, price in rows[max(0, place - 10) : place + 1]]
        found.append((ident, sum(last) / len(last)))
    return found


def q06(auction: Table, bid: Table) -> Table:
    won = _winning(auction, bid)
    sellers = won.groupby(won.seller).reduce(
        won.seller, rows=pw.reducers.sorted_tuple(pw.make_tuple(won.bid_time, won.ident, won.price))
    )
    moving = sellers.select(
        sellers.seller, pair=pw.apply_with_type(_moving, list[tuple[int, float]], sellers.rows)
    )
    pairs = moving.flatten(moving.pair)
    return pairs.select(pairs.seller, ident=pairs.pair[0], average=pairs.pair[1])


def q07(bid: Table) -> Table:
    highest = bid.windowby(bid.date_time, window=pw.temporal.tumbling(duration=10 * SECOND)).reduce(
        starttime=pw.this._pw_window_start, maxprice=pw.reducers.max(pw.this.price)
    )
    b = bid.with_columns(starttime=_window(bid.date_time))
    return b.join(highest, b.starttime == highest.starttime, b.price == highest.maxprice).select(
        b.auction, b.price, b.bidder, b.date_time, b.extra
    )


def _window(time: Any) -> Any:
    return time // (10 * SECOND) * (10 * SECOND)


def q08(person: Table, auction: Table) -> Table:
    p = person.select(person.ident, person.name, starttime=_window(person.date_time))
    p = p.groupby(p.ident, p.name, p.starttime).reduce(p.ident, p.name, p.starttime)
    a = auction.select(auction.seller, starttime=_window(auction.date_time))
    a = a.groupby(a.seller, a.starttime).reduce(a.seller, a.starttime)
    return p.join(a, p.ident == a.seller, p.starttime == a.starttime).select(p.ident, p.name, p.starttime)


def q09(auction: Table, bid: Table) -> Table:
    return _winning(auction, bid)


def _format(time: Any, pattern: str) -> Any:
    return time.dt.utc_from_timestamp(unit="us").dt.strftime(pattern)


def q10(bid: Table) -> Table:
    return bid.select(
        *bid.without(bid.channel, bid.url),
        day=_format(bid.date_time, "%Y-%m-%d"),
        minute=_format(bid.date_time, "%H:%M"),
    )


def q11(bid: Table) -> Table:
    return bid.windowby(
        bid.date_time, window=pw.temporal.session(max_gap=10 * SECOND), instance=bid.bidder
    ).reduce(
        bidder=pw.this._pw_instance,
        bid_count=pw.reducers.count(),
        starttime=pw.this._pw_window_start,
        last_bid=pw.this._pw_window_end,
    )


def q12(bid: Table) -> Table:
    return bid.windowby(
        bid.date_time, window=pw.temporal.tumbling(duration=10 * SECOND), instance=bid.bidder
    ).reduce(
        bidder=pw.this._pw_instance,
        bid_count=pw.reducers.count(),
        starttime=pw.this._pw_window_start,
        endtime=pw.this._pw_window_end,
    )


def q13(bid: Table, side_input: Table) -> Table:
    b, s = bid.with_columns(place=bid.auction % 1000), side_input
    return b.join(s, b.place == s.key).select(b.auction, b.bidder, b.price, b.date_time, s.value)


def q14(bid: Table) -> Table:
    b = bid.with_columns(price=0.908 * bid.price, hour=bid.date_time // (3600 * SECOND) % 24)
    b = b.filter((b.price > 1_000_000) & (b.price < 50_000_000))
    kind = pw.if_else(
        (b.hour >= 8) & (b.hour <= 18),
        "dayTime",
        pw.if_else((b.hour <= 6) | (b.hour >= 20), "nightTime", "otherTime"),
    )
    return b.select(
        b.auction,
        b.bidder,
        b.price,
        bid_time_type=kind,
        date_time=b.date_time,
        extra=b.extra,
        c_counts=b.extra.str.count("c"),
    )


def _ranked(bid: Table, *columns: str) -> Table:
    """Bids with columns for each price range: whether it is in it, and if so each of ``columns``, else -1."""
    more: dict[str, Any] = {}
    for rank, (low, high) in enumerate(RANKS, 1):
        inside = (bid.price >= low) & (bid.price < high)
        more[f"in{rank}"] = pw.if_else(inside, 1, 0)
        for column in columns:
            more[f"{column}{rank}"] = pw.if_else(inside, bid[column], -1)
    return bid.with_columns(day=_format(bid.date_time, "%Y-%m-%d"), **more)


def _bids(b: Table) -> dict[str, Any]:
    return {f"rank{rank}_bids": pw.reducers.sum(b[f"in{rank}"]) for rank in (1, 2, 3)}


def _distinct(b: Table) -> dict[str, Any]:
    """Distinct bidders and auctions; -1 is among those of a range unless all bids are in the range."""
    found: dict[str, Any] = {}
    for what in ("bidder", "auction"):
        found[f"total_{what}s"] = pw.reducers.count_distinct(b[what])
        for rank in (1, 2, 3):
            others = pw.reducers.max(1 - b[f"in{rank}"])
            found[f"rank{rank}_{what}s"] = pw.reducers.count_distinct(b[f"{what}{rank}"]) - others
    return found


def q15(bid: Table) -> Table:
    b = _ranked(bid, "bidder", "auction")
    return b.groupby(b.day).reduce(b.day, total_bids=pw.reducers.count(), **_bids(b), **_distinct(b))


def q16(bid: Table) -> Table:
    b = _ranked(bid, "bidder", "auction").with_columns(minute=_format(pw.this.date_time, "%H:%M"))
    return b.groupby(b.channel, b.day).reduce(
        b.channel,
        b.day,
        minute=pw.reducers.max(b.minute),
        total_bids=pw.reducers.count(),
        **_bids(b),
        **_distinct(b),
    )


def q17(bid: Table) -> Table:
    b = _ranked(bid)
    return b.groupby(b.auction, b.day).reduce(
        b.auction,
        b.day,
        total_bids=pw.reducers.count(),
        **_bids(b),
        min_price=pw.reducers.min(b.price),
        max_price=pw.reducers.max(b.price),
        avg_price=pw.reducers.avg(b.price),
        sum_price=pw.reducers.sum(b.price),
    )


def q18(bid: Table) -> Table:
    last = bid.groupby(bid.bidder, bid.auction).reduce(row=pw.reducers.argmax(bid.date_time))
    return bid.ix(last.row)


def _first_ten(rows: tuple[tuple[int, int, pw.Pointer], ...]) -> list[tuple[int, pw.Pointer]]:
    return [(place, row) for place, (_, _, row) in enumerate(rows[:10], 1)]


def q19(bid: Table) -> Table:
    ranked = bid.groupby(bid.auction).reduce(
        rows=pw.reducers.sorted_tuple(pw.make_tuple(-bid.price, bid.date_time, bid.id))
    )
    top = ranked.select(top=pw.apply_with_type(_first_ten, list[tuple[int, pw.Pointer]], ranked.rows))
    top = top.flatten(top.top)
    top = top.select(place=top.top[0], row=top.top[1])
    b = bid.ix(top.row)
    return top.select(b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra, top.place)


def q20(bid: Table, auction: Table) -> Table:
    a, b = _expanded(auction.filter(auction.category == 10), bid)
    return b.join(a, b.auction == a.ident).select(
        b.auction,
        b.bidder,
        b.price,
        b.channel,
        b.url,
        b.bid_time,
        b.bid_extra,
        *(a[name] for name in a.column_names() if name != "ident"),
    )


def q21(bid: Table) -> Table:
    mark = "&channel_id="
    b = bid.with_columns(lower=bid.channel.str.lower(), at=bid.url.str.find(mark))
    rest = b.url.str.slice(b.at + len(mark), b.url.str.len())
    ident = pw.if_else(b.at >= 0, rest, "")
    for number, name in enumerate(("apple", "google", "facebook", "baidu")):
        ident = pw.if_else(b.lower == name, str(number), ident)
    b = bid.select(bid.auction, bid.bidder, bid.price, bid.channel, channel_id=ident)
    return b.filter(b.channel_id != "")


def q22(bid: Table) -> Table:  # there is no split, but the slashes can be found one after the other
    b = bid.with_columns(first=bid.url.str.find("/", len("https://")) + 1)
    b = b.with_columns(second=b.url.str.find("/", b.first) + 1)
    b = b.with_columns(third=b.url.str.find("/", b.second) + 1)
    b = b.with_columns(end=b.url.str.find("/", b.third))
    return b.select(
        b.auction,
        b.bidder,
        b.price,
        b.channel,
        dir1=b.url.str.slice(b.first, b.second - 1),
        dir2=b.url.str.slice(b.second, b.third - 1),
        dir3=b.url.str.slice(b.third, b.end),
    )
