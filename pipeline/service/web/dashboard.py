"""The page of an account: balance, usage, keys and the last calls."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from markupsafe import Markup
from starlette.responses import Response

from pipeline.answers import SYSTEMS
from pipeline.charts import Day, daily
from pipeline.money import total
from pipeline.quoting import how_many
from pipeline.service.accounts import DailyUse
from pipeline.service.web.forms import Form
from pipeline.service.web.rendering import render_form, usd
from pipeline.service.web.site import Site, Visitor

__all__ = ["show", "usage_chart"]

DAYS = 30

RECENT = 20

DONE = {"revoked": "Key revoked. Calls with it are refused from now on."}
"""What the page says after an action, by the action's name in the address."""


def show(site: Site, visitor: Visitor, form: Form | None = None) -> Response:
    """Show an account, with the form to make a key and its errors."""
    account = site.accounts.account(visitor.member)
    keys = site.accounts.keys.of(account.account_id)
    usage = site.accounts.statement.usage(account.account_id, DAYS)
    return render_form(
        visitor,
        "dashboard.html",
        form or Form(),
        account=account,
        keys=[key for key in keys if key.revoked_at is None],
        revoked=[key for key in keys if key.revoked_at is not None],
        names={key.key_id: key.name for key in keys},
        days=DAYS,
        chart=usage_chart(usage, site.accounts.today(), DAYS),
        calls_made=sum(use.calls for use in usage),
        spent=total(use.usd for use in usage),
        calls=site.accounts.statement.entries(account.account_id, RECENT, kind="charge"),
        done=DONE.get(visitor.request.query_params.get("done", "")),
    )


def usage_chart(uses: Sequence[DailyUse], today: date, days: int) -> Markup:
    """Draw the charged calls of some days up to today."""
    shown = [today - timedelta(back) for back in range(days - 1, -1, -1)]
    return daily(
        [_day(day, [use for use in uses if use.day == day]) for day in shown],
        {system: system.upper() for system in SYSTEMS},
        title="Calls per day and system",
        counted=("call", "calls"),
        amounts=("USD", usd(total(use.usd for use in uses if use.day >= shown[0]), 7)),
        caption=f"Charged calls of the last {days} days (UTC). Days without calls are left out.",
    )


def _day(day: date, uses: Sequence[DailyUse]) -> Day:
    by_system = {use.system: use.calls for use in uses}
    calls: dict[str, int] = {system: by_system[system] for system in SYSTEMS if system in by_system}
    paid = total(use.usd for use in uses)
    text = "no calls"
    if calls:
        each = ", ".join(f"{system.upper()} {number:,}" for system, number in calls.items())
        text = f"{how_many(sum(calls.values()), 'call')} ({each}), {usd(paid)} USD"
    return Day(day, calls, f"{day:%-d %B %Y}: {text}", usd(paid, 7))
