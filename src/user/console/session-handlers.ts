// Sessions of people in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import type { LoginSession } from '../use-cases/sessions.ts';
import type { loginSessionRoutes } from './session-routes.ts';

const render = ({ id, createdAt, lastSeenAt, network, browser, method, isCurrent }: LoginSession) => ({
  id,
  created_at: iso(createdAt),
  last_seen_at: iso(lastSeenAt),
  network,
  browser,
  method,
  current: isCurrent,
});

export const loginSessions: Handlers<typeof loginSessionRoutes> = {
  listOwnSessions: async ({ app }, _input, caller) =>
    (await app.sessions.list(principalOf(caller), null, caller.tokenHash)).map(render),

  async endOwnSession({ app }, { params }, caller) {
    await app.sessions.remove(principalOf(caller), params.login_id, caller.tokenHash);
    return null;
  },

  async endOtherSessions({ app }, _input, caller) {
    await app.sessions.removeAll(principalOf(caller), null, caller.tokenHash);
    return null;
  },

  listUserSessions: async ({ app }, { params }, caller) =>
    (await app.sessions.list(principalOf(caller), params.user_id, caller.tokenHash)).map(render),

  async endUserSessions({ app }, { params }, caller) {
    await app.sessions.removeAll(principalOf(caller), params.user_id, null);
    return null;
  },
};
