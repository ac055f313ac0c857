// Tokens for the hosted API in the console's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { listOf } from '../../http/contract/pages.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { operatorTokenRecord } from '../record.ts';
import type { GivenToken } from '../use-cases/operator-tokens.ts';
import type { operatorTokenRoutes } from './token-routes.ts';

const render = ({ token, expiresAt }: GivenToken) => ({ token, expires_at: iso(expiresAt) });

export const operatorTokens: Handlers<typeof operatorTokenRoutes> = {
  async createOperatorToken({ app }, { body }, caller) {
    const request = { role: body.role, ttlMs: body.ttl_seconds * 1000 };
    const token = await app.operatorTokens.create(principalOf(caller), request);
    return { id: token.id, ...render(token) };
  },

  async listOperatorTokens({ app }, { query }, caller) {
    const page = await app.operatorTokens.list(principalOf(caller), query);
    return listOf(page, query, (token) => operatorTokenRecord.render('console', token));
  },

  async revokeOperatorToken({ app }, { params }, caller) {
    await app.operatorTokens.revoke(principalOf(caller), params.token_id);
    return null;
  },

  async exchangeLogin({ app }, _input, caller) {
    return render(await app.operatorTokens.createForLogin(principalOf(caller), caller.tokenHash));
  },

  async jwks({ app }) {
    const { keys } = await app.operatorTokens.keys();
    return { keys: [...keys] };
  },
};
