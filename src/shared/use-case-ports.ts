// Everything a use case may be made with. Each names the few that it needs.
import type { HubActors } from '../../actors/protocol.ts';
import type { Admission } from '../admission/admission.ts';
import type { RuleSets } from '../agent/rules/assignment.ts';
import type { Registrar } from '../agent/use-cases/registrar.ts';
import type { AiModels } from '../assistant/port/model.ts';
import type { AiPrices } from '../assistant/record.ts';
import type { Evaluator } from '../evaluation/port/evaluator.ts';
import type { Replayer } from '../evaluation/port/replayer.ts';
import type { Messengers } from '../notification/port/messengers.ts';
import type { TenantFileFormat } from '../tenant/port/file-format.ts';
import type { Quotas } from '../tenant/rules/quota.ts';
import type { LoginLinks } from '../user/port/login-links.ts';
import type { OidcSettings } from '../user/rules/oidc.ts';
import type { Meters } from './meters.ts';
import type { Announcer } from './ports/announcer.ts';
import type { Broadcast } from './ports/broadcast.ts';
import type { Clock } from './ports/clock.ts';
import type { Jobs } from './ports/jobs.ts';
import type { Jwts } from './ports/jwt.ts';
import type { Limits } from './ports/limits.ts';
import type { Log } from './ports/log.ts';
import type { NodeHealth } from './ports/node-health.ts';
import type { Outbound } from './ports/outbound.ts';
import type { Secrets } from './ports/secrets.ts';
import type { SignInProvider } from './ports/sign-in-provider.ts';
import type { Store } from './ports/store.ts';
import type { VendorNames } from './vendor-names.ts';

/** The settings that use cases need (src/hub/config.ts reads them). */
export interface Settings {
  readonly version: string;
  readonly baseUrl: string;
  /** The token that the first set-up needs; null if it needs none. */
  readonly setupToken: SetupToken | null;
  readonly operatorToken: string | null;
  /** True if admins may create tokens for the hosted API. */
  readonly operatorTokens: boolean;
  /** The identity provider whose tokens the hosted API takes beside the hub's own; null: none. */
  readonly oidc: OidcSettings | null;
  readonly sessionTtlMs: number;
  /** The longest life of a login through the identity provider. */
  readonly oidcSessionMs: number;
  /** False: nobody signs in with a password. */
  readonly passwordLogin: boolean;
  readonly loginAttempts: number;
  readonly loginWindowMs: number;
  /** Of an agent. */
  readonly approvalsPerMinute: number;
  /** Of a tenant's environment. */
  readonly ingestEventsPerMinute: number;
  /** Milliseconds without activity after which an open run, or an agent, is stale. */
  readonly runStaleMs: number;
  readonly agentStaleMs: number;
  /** Days after which entries of the audit chain may go; 0: never. */
  readonly auditRetentionDays: number;
  readonly wire: VendorNames;
  /** Base address of the API of bot chats. */
  readonly chatBotUrl: string;
  /** Lower-case header names in which a bot chat may present its secret. */
  readonly chatBotSecretHeaders: readonly string[];
  readonly quotas: Quotas;
  /** Prices of models, for providers that report no costs. */
  readonly aiPrices: AiPrices;
}

export interface SetupToken {
  readonly value: string;
  /**
   * True when callers on this machine need none: the hub made the token itself, because it listens to others before
   * anybody set it up.
   */
  readonly isGenerated: boolean;
}

export interface AppPorts {
  /** Limits the work that runs at once in this node. */
  readonly admission: Admission;
  readonly store: Store;
  readonly actors: HubActors;
  readonly announcer: Announcer;
  /** Assignment rules, compiled. */
  readonly ruleSets: Pick<RuleSets, 'of'>;
  readonly registrar: Pick<Registrar, 'noteSeen' | 'noteSeenWith' | 'leftOut'>;
  readonly broadcast: Pick<Broadcast, 'control' | 'follow'>;
  readonly evaluator: Evaluator;
  readonly replayer: Replayer;
  readonly jobs: Pick<Jobs, 'add' | 'find' | 'remove' | 'dead' | 'retry'>;
  /** Limits that hold over all nodes. */
  readonly limits: Limits;
  /** Limits of a caller's requests, which must not need more than this process. */
  readonly requestLimits: Limits;
  readonly models: AiModels;
  /** Every call to another service. */
  readonly outbound: Outbound;
  /** Calls to the identity provider, which may be at a private address. */
  readonly outboundToIssuer: Pick<Outbound, 'send'>;
  readonly jwts: Jwts;
  /** Null: nobody signs in through an identity provider. */
  readonly signInProvider: SignInProvider | null;
  readonly loginLinks: LoginLinks;
  readonly fileFormat: TenantFileFormat;
  readonly messengers: Messengers;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly settings: Settings;
  readonly health: NodeHealth;
  /** Counts of this node, for its metrics. */
  readonly meters: Meters;
}
