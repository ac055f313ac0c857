// Home's first requests, sent while its scripts load. The file is in the first load, so it imports no part of the page.
import type { Input } from '../../lib/api.ts';
import { ask } from '../../lib/query.ts';

/** The queue of approvals, of which Home displays the most urgent. */
export const waitingInput = (env: string | undefined): Input<'listApprovals'> =>
  ({ query: { status: 'pending', limit: 200, ...(env ? { env } : {}) } }) as Input<'listApprovals'>;

/** The figures of Home. Undefined: of all environments, like the frame's count of approvals. */
export const statsInput = (env: string | undefined): Input<'statsOverview'> | undefined =>
  env ? ({ query: { env } } as Input<'statsOverview'>) : undefined;

/** Requests the data that the frame and Home need first. Without a session, the hub refuses it, which has no effect. */
export function askAhead({ pathname, search }: Location): void {
  ask('statsOverview');
  if (!/^\/dashboard\/?$/.test(pathname)) return;
  const env = new URLSearchParams(search).get('env') ?? undefined;
  if (env) ask('statsOverview', statsInput(env));
  ask('listApprovals', waitingInput(env));
}
