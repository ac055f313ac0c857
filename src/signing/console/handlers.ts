// The rotation of the signing key in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import type { signingRoutes } from './routes.ts';

const pinAgain =
  'The old key does not attest the new one. Agents that pinned the old key keep their rules and refuse new ones until they ' +
  'pin the new key: configure the new public key, or delete the pin file in their error message and restart them.';

export const signing: Handlers<typeof signingRoutes> = {
  async rotateSigningKey({ app }, { body }, caller) {
    const { publicKey, rotatedAt, resigned, followed } = await app.signingKeys.rotate(
      principalOf(caller),
      body.compromised ?? false,
    );
    return {
      public_key: publicKey,
      rotated_at: iso(rotatedAt),
      deployments_re_signed: resigned,
      agents_follow: followed,
      warning: followed ? null : pinAgain,
    };
  },
};
