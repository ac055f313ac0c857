// What Home asks first, asked while its scripts still load. In the first load, so it imports no part of the page.
import type { Input } from '../../lib/api.ts';
import { ask } from '../../lib/query.ts';

/** The queue of approvals that Home shows the most urgent of. */
export const waitingInput = (env: string | undefined): Input<'listApprovals'> =>
  ({ query: { status: 'pending', limit: 200, ...(env ? { env } : {}) } }) as Input<'listApprovals'>;

/** Asks for what the frame and Home cannot be used without. Nobody signed in: the answers are refused and forgotten. */
export function askAhead({ pathname, search }: Location): void {
  ask('statsOverview');
  if (!/^\/dashboard\/?$/.test(pathname)) return;
  ask('listApprovals', waitingInput(new URLSearchParams(search).get('env') ?? undefined));
}
