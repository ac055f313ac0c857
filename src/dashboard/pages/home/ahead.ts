// What Home asks first, asked while its scripts still load. In the first load, so it imports no part of the page.
import type { Input } from '../../lib/api.ts';
import { ask } from '../../lib/query.ts';

/** The queue of approvals that Home shows the most urgent of. */
export const waitingInput = (env: string | undefined): Input<'listApprovals'> =>
  ({ query: { status: 'pending', limit: 200, ...(env ? { env } : {}) } }) as Input<'listApprovals'>;

/** The figures of Home; undefined: of every environment, as the frame's count of approvals. */
export const statsInput = (env: string | undefined): Input<'statsOverview'> | undefined =>
  env ? ({ query: { env } } as Input<'statsOverview'>) : undefined;

/** Asks for what the frame and Home cannot be used without. Nobody signed in: the answers are refused and forgotten. */
export function askAhead({ pathname, search }: Location): void {
  ask('statsOverview');
  if (!/^\/dashboard\/?$/.test(pathname)) return;
  const env = new URLSearchParams(search).get('env') ?? undefined;
  if (env) ask('statsOverview', statsInput(env));
  ask('listApprovals', waitingInput(env));
}
