// Snoozed approvals: out of this browser's queue for a while, at the latest until two minutes before the deadline.
import type { JSX } from 'react';
import { minuteMs } from '../../../shared/duration.ts';
import { useCommand } from '../../lib/commands.ts';
import { changePrefs, usePrefs } from '../../lib/prefs.ts';
import { useFilters } from '../../lib/search.ts';
import { serverNow } from '../../lib/server-time.ts';
import { duration } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { type Approval, deadlineOf } from './model.ts';

const longestMs = 15 * minuteMs;
const leastLeftMs = 2 * minuteMs;

/** Tells snoozed approvals from the others. */
export function useSnoozed(): (approval: Approval) => boolean {
  const { snoozed } = usePrefs();
  const now = useNow(10_000);
  return ({ id }) => (snoozed[id] ?? 0) > now;
}

/** Number of the snoozed approvals, also of those that ended since. */
export function useSnoozedCount(): number {
  const { snoozed } = usePrefs();
  const now = useNow(10_000);
  return Object.values(snoozed).filter((end) => end > now).length;
}

function snooze(approval: Approval, until: number): void {
  const now = serverNow();
  changePrefs(({ snoozed }) => {
    const left = Object.entries(snoozed).filter(([id, end]) => end > now && id !== approval.id);
    return {
      snoozed: Object.fromEntries([...left, ...(until > now ? [[approval.id, until] as const] : [])]),
    };
  });
}

export function Snooze({ approval }: { readonly approval: Approval }): JSX.Element {
  const [, change] = useFilters();
  const isSnoozed = useSnoozed()(approval);
  const now = useNow(10_000);
  const until = Math.min(now + longestMs, deadlineOf(approval) - leastLeftMs);
  const why =
    !isSnoozed && until <= now ? 'Less than two minutes are left, so this approval cannot be snoozed.' : null;
  const act = (): void => {
    snooze(approval, isSnoozed ? 0 : until);
    change({ id: undefined }, true);
    say(isSnoozed ? 'The approval is back in the queue.' : `Snoozed for ${duration(until - serverNow())}.`);
  };
  useCommand('snooze', act, { why });
  return (
    <Button kind="quiet" icon="clock" hint="s" cannot={why} onClick={act}>
      {isSnoozed ? 'End snooze' : 'Snooze'}
    </Button>
  );
}
