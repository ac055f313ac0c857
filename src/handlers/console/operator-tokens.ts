// Tokens for the hosted API in the console's words.
import type { operatorTokenRoutes } from '../../api/operator-tokens.ts';
import type { GivenToken } from '../../app/operator-tokens.ts';
import type { Handlers } from '../common/hub.ts';
import { iso } from '../common/render.ts';
import { principalOf } from './principal.ts';

const render = ({ token, expiresAt }: GivenToken) => ({ token, expires_at: iso(expiresAt) });

export const operatorTokens: Handlers<typeof operatorTokenRoutes> = {
  async createOperatorToken({ app }, { body }, caller) {
    const wanted = { role: body.role, ttlMs: body.ttl_seconds * 1000 };
    return render(await app.operatorTokens.give(principalOf(caller), wanted));
  },

  async exchangeLogin({ app }, _input, caller) {
    return render(await app.operatorTokens.giveToLogin(principalOf(caller), caller.tokenHash));
  },

  async jwks({ app }) {
    const { keys } = await app.operatorTokens.keys();
    return { keys: [...keys] };
  },
};
