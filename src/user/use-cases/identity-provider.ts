// Tokens of the installation's identity provider. Its keys are fetched when they are needed and kept for the time that
// the provider sets. While the provider is away, the keys of the last 24 hours stay good.
import { outageOf } from '../../admission/outages.ts';
import { dayMs, minuteMs } from '../../shared/duration.ts';
import { type HubError, refused } from '../../shared/error.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Claims, JwkSet, Jwts } from '../../shared/ports/jwt.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { Outbound, OutboundAnswer } from '../../shared/ports/outbound.ts';
import type { OperatorRole } from '../../shared/principal.ts';
import { camelKeys } from '../../shared/snake-keys.ts';
import type { Workspace, WorkspaceStore } from '../../tenant/port/workspaces.ts';
import type { OperatorTokens } from '../port/operator-tokens.ts';
import { displayIn, type OidcSettings, roleOf, rolesIn, textAt } from '../rules/oidc.ts';

export interface IdentityProvider extends Pick<OperatorTokens, 'identify'> {
  readonly issuer: string;
  /** The claims of a logout token of the provider for this client. @throws HubError unauthenticated, unavailable */
  verifyLogout(token: string, clientId: string): Promise<Claims>;
  /** The tenant of a workspace, which an admin's token may make; null: nobody linked it. */
  tenantOf(workspaceId: string, role: OperatorRole | null): Promise<string | null>;
}

export interface IdentityProviderPorts {
  readonly settings: OidcSettings;
  /** Reaches private addresses too: whoever runs the hub set the provider's. */
  readonly outbound: Pick<Outbound, 'send'>;
  readonly workspaces: Pick<WorkspaceStore, 'getTenantId'>;
  /** Makes the tenant of a workspace that nobody linked, where the settings let admins' tokens do that. */
  readonly provision: (workspace: Workspace) => Promise<string>;
  readonly jwts: Jwts;
  readonly clock: Clock;
  readonly log: Log;
}

const timeoutMs = 5_000;
const maxBytes = 256 * 1024;
/** Bounds of the time that the provider sets. */
const [minFreshMs, maxFreshMs] = [5 * minuteMs, dayMs];
/** Time for which keys are good that cannot be fetched again, in milliseconds. */
const staleMs = dayMs;
/** Between two looks for a key that a token names and nobody knows. */
const againMs = 30_000;

interface Kept {
  readonly keys: JwkSet;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

const away = (): HubError => outageOf('providerKeysAway');

/** The provider's keys: fetched when they are needed, and kept. */
class ProviderKeys {
  readonly #ports: IdentityProviderPorts;
  #kept: Kept | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<Kept> | null = null;

  constructor(ports: IdentityProviderPorts) {
    this.#ports = ports;
  }

  /**
   * The keys that a token can be checked with: fetched again for one that names an unknown key, every 30 s at most.
   * @throws HubError unavailable when none are good
   */
  async for(token: string): Promise<JwkSet> {
    const { jwts } = this.#ports;
    const { keys } = await this.#current();
    if (jwts.hasKeyOf(token, keys) || this.#isPausing()) return keys;
    return this.#fetchOnce().then(
      (fresh) => fresh.keys,
      () => keys,
    );
  }

  /** True if the last fetch is so recent that none begins now. */
  #isPausing(): boolean {
    return this.#ports.clock.now() - this.#triedAt < againMs && this.#fetching === null;
  }

  /** @throws HubError unavailable when none are good */
  async #current(): Promise<Kept> {
    const { settings, clock, log } = this.#ports;
    if (this.#kept && clock.now() < this.#kept.freshUntil) return this.#kept;
    // While the provider is away, requests do not each wait for it.
    if (this.#kept === null || !this.#isPausing()) {
      try {
        return await this.#fetchOnce();
      } catch (err) {
        log.warn({ err, issuer: settings.issuer }, "cannot fetch the identity provider's keys");
      }
    }
    if (this.#kept && clock.now() - this.#kept.fetchedAt < staleMs) return this.#kept;
    throw away();
  }

  /** One fetch for all callers. */
  #fetchOnce(): Promise<Kept> {
    this.#fetching ??= this.#fetch()
      .then((fresh) => {
        this.#kept = fresh;
        return fresh;
      })
      .finally(() => {
        this.#triedAt = this.#ports.clock.now();
        this.#fetching = null;
      });
    return this.#fetching;
  }

  async #fetch(): Promise<Kept> {
    const { value, answer } = await this.#json(await this.#url());
    const { keys } = (value ?? {}) as { readonly keys?: unknown };
    if (!Array.isArray(keys)) throw new Error('its key set contains no list of keys');
    const now = this.#ports.clock.now();
    return {
      keys: { keys },
      fetchedAt: now,
      freshUntil: now + freshFor(answer.headers.get('cache-control')),
    };
  }

  async #url(): Promise<string> {
    const { issuer, jwksUrl } = this.#ports.settings;
    if (jwksUrl !== null) return jwksUrl;
    const { value } = await this.#json(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const document = camelKeys((value ?? {}) as { readonly [name: string]: unknown });
    if (document.issuer !== issuer) throw new Error('its discovery document names another issuer');
    if (typeof document.jwksUri !== 'string') throw new Error('its discovery document has no jwks_uri');
    return document.jwksUri;
  }

  async #json(url: string): Promise<{ readonly value: unknown; readonly answer: OutboundAnswer }> {
    const { outbound } = this.#ports;
    const answer = await outbound.send({ url, timeoutMs, maxBytes, headers: { accept: 'application/json' } });
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    return { value: JSON.parse(Buffer.from(answer.body).toString('utf8')), answer };
  }
}

export function createIdentityProvider(ports: IdentityProviderPorts): IdentityProvider {
  const { settings, jwts, clock } = ports;
  const { issuer, audiences } = settings;
  const keys = new ProviderKeys(ports);
  return {
    issuer,
    verifyLogout: async (token, clientId) =>
      jwts.verify(token, await keys.for(token), {
        issuer,
        audiences: [clientId],
        now: clock.now(),
        isLogout: true,
      }),
    tenantOf: (workspaceId, role) => tenantOf(ports, { issuer, workspaceId }, role),
    async identify(token) {
      const claims = await jwts.verify(token, await keys.for(token), { issuer, audiences, now: clock.now() });
      const workspaceId = textAt(claims, settings.workspaceClaims);
      const roles = rolesIn(claims, settings);
      const role = roleOf(roles);
      const tenantId = workspaceId === null ? null : await tenantOf(ports, { issuer, workspaceId }, role);
      if (tenantId === null) {
        throw refused(
          'workspace_required',
          workspaceId === null
            ? 'The token contains no workspace. Check the workspace claim at the identity provider.'
            : "The token's workspace is not linked to this hub. Ask the operator of the hub to link it.",
        );
      }
      if (role === null)
        throw refused(
          'role_required',
          'The token grants no role on this hub. Ask an admin of the identity provider for one.',
        );
      return {
        tenantId,
        issuer,
        subject: String(claims.sub),
        display: displayIn(claims),
        roles,
        // The provider ends it, by its time.
        loginHash: null,
        expiresAt: Number(claims.exp) * 1000,
      };
    },
  };
}

async function tenantOf(
  { workspaces, settings, provision }: IdentityProviderPorts,
  workspace: Workspace,
  role: OperatorRole | null,
): Promise<string | null> {
  const linked = await workspaces.getTenantId(workspace);
  if (linked !== null || role !== 'admin' || !settings.autoProvision) return linked;
  return provision(workspace);
}

/** Milliseconds, from a Cache-Control header. */
function freshFor(header: string | undefined): number {
  const seconds = Number(/(?:^|[\s,])max-age=(\d{1,9})/i.exec(header ?? '')?.[1] ?? 0);
  return Math.min(maxFreshMs, Math.max(minFreshMs, seconds * 1000));
}
