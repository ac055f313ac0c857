// The ports of the use cases: the parts of this node, and the adapters that every way to run shares.
import { createAiModels } from '../../adapters/ai/index.ts';
import { createJwts } from '../../adapters/jose/jwts.ts';
import { createMessengers } from '../../adapters/messengers/messengers.ts';
import { createEvaluator } from '../../adapters/node/evaluator/evaluator.ts';
import { createReplayer } from '../../adapters/node/evaluator/replayer.ts';
import { createLoginLinks } from '../../adapters/node/login-links.ts';
import { createOutbound } from '../../adapters/node/outbound/outbound.ts';
import { tenantFileFormat } from '../../adapters/node/tenant-file.ts';
import { createSignInProvider } from '../../adapters/openid/sign-in-provider.ts';
import type { NodeHealth } from '../shared/ports/node-health.ts';
import type { AppPorts, SetupToken } from '../shared/use-case-ports.ts';
import { version } from '../version.ts';
import { meteredOutbound } from './metrics/outbound.ts';
import type { Materials, NodeParts } from './parts.ts';

export interface OwnedPorts {
  readonly ports: AppPorts;
  /** False when the last call to the identity provider failed; null: the hub has none. */
  readonly isIssuerUp: () => boolean | null;
  /** Ends the threads that evaluate and replay. */
  close(): Promise<void>;
}

export function createAppPorts(
  { config, clock, admission, log, secrets, ruleSets, meters }: Materials,
  { store, announcer, broadcast, actors, limits, requestLimits, registrar, jobs }: NodeParts,
  health: NodeHealth,
  setupToken: SetupToken | null,
): OwnedPorts {
  const { keyPrefix, apiVersions, bundleKinds, rulesetKinds } = config.wire;
  const language = { clock, keyPrefix, accepted: { apiVersions, bundleKinds, rulesetKinds } };
  const evaluator = createEvaluator(language);
  const replayer = createReplayer(language);
  const outbound = createOutbound({
    clock,
    allowPrivate: config.allowPrivateOutbound,
    allow: config.outboundAllow,
  });
  // The operator of the hub sets the address of the identity provider, so private addresses are allowed.
  const issuer = meteredOutbound(
    createOutbound({ clock, allowPrivate: true, allow: [] }),
    meters.dependencies.issuer,
    clock,
  );
  const outboundToIssuer = issuer.outbound;
  const ports: AppPorts = {
    admission,
    store,
    actors,
    announcer,
    broadcast,
    evaluator,
    replayer,
    jobs,
    limits,
    requestLimits,
    registrar,
    ruleSets,
    outbound,
    outboundToIssuer,
    signInProvider: signInProviderOf(config.oidc, { outbound: outboundToIssuer, clock, log }),
    models: createAiModels(outbound, config.aiAddresses),
    jwts: createJwts(),
    fileFormat: tenantFileFormat,
    loginLinks: createLoginLinks(config.cluster ? null : config.dataDir),
    messengers: createMessengers({ ...config, ...config.wire, outbound, clock, version }),
    clock,
    secrets,
    log,
    health,
    meters,
    settings: { ...config, version, setupToken },
  };
  return {
    ports,
    isIssuerUp: () => (config.oidc ? issuer.isUp() : null),
    async close() {
      await Promise.all([evaluator.close(), replayer.close()]);
    },
  };
}

const signInProviderOf = (
  oidc: Materials['config']['oidc'],
  ports: Pick<Parameters<typeof createSignInProvider>[0], 'outbound' | 'clock' | 'log'>,
): AppPorts['signInProvider'] =>
  oidc?.login ? createSignInProvider({ ...oidc.login, issuer: oidc.issuer, ...ports }) : null;
