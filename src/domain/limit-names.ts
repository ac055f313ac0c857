// What each limit counts together that is no limit of a route (limit.ts). A limit of an agent or a key never reaches into another environment: one key belongs
// to one environment, so its id stands for both; where no key is named, the environment is. What callers choose
// themselves stands last, so that no two names are alike.

/** A caller with an API key. A whole fleet may share a key, and replicas an agent id, so neither is limited alone. */
export interface KeyHolder {
  readonly keyId: string;
  /** The agent-id header's; null when absent. */
  readonly agentId: string | null;
  /** The IPv4 address, or the /64 of the IPv6 address. */
  readonly network: string;
}

const together = ({ keyId, network, agentId }: KeyHolder): string => `${keyId}/${network}/${agentId ?? ''}`;

/** Who a request is of, as far as limits tell callers apart. */
export type LimitedCaller =
  | ({ readonly kind: 'key' | 'hostedKey' } & KeyHolder)
  | { readonly kind: 'user'; readonly userId: string }
  | {
      readonly kind: 'hostedOperator';
      readonly tenantId: string;
      readonly issuer: string;
      readonly subject: string;
    }
  | { readonly kind: 'none' | 'operator' };

type Operator = Extract<LimitedCaller, { kind: 'hostedOperator' }>;

/** By length first, so that no issuer and subject can be read as another pair. */
const operatorName = ({ tenantId, issuer, subject }: Operator): string =>
  `${tenantId}/${issuer.length}/${issuer}/${subject}`;

/** The name of a caller among others; null for one that only its address tells apart. */
function nameOf(prefix: 'requests' | 'streams', caller: LimitedCaller): string | null {
  switch (caller.kind) {
    case 'key':
    case 'hostedKey':
      return `${prefix}-key:${together(caller)}`;
    case 'user':
      return `${prefix}-user:${caller.userId}`;
    case 'hostedOperator':
      return `${prefix}-operator:${operatorName(caller)}`;
    default:
      return null;
  }
}

export const limitNames = {
  requestsOf: (caller: LimitedCaller) => nameOf('requests', caller),
  streamsOf: (caller: LimitedCaller) => nameOf('streams', caller),
  failedSignIns: (network: string) => `failed-sign-ins:${network}`,
  login: (network: string) => `login:${network}`,
  /** @param emailHash of the lower-cased e-mail, whether or not it is known */
  loginOfEmail: (emailHash: string) => `login-email:${emailHash}`,
  loginOfDevice: (deviceId: string) => `login-device:${deviceId}`,
  /** Wrong old passwords where a user changes the password. */
  passwordOfUser: (userId: string) => `password-user:${userId}`,
  setup: (network: string) => `setup:${network}`,
  operator: (network: string) => `operator:${network}`,
  requestsOfKey: (caller: KeyHolder) => `requests-key:${together(caller)}`,
  searchesOfAgent: ({ keyId, agentId }: KeyHolder) => `searches-agent:${keyId}/${agentId ?? ''}`,
  requestsOfUser: (userId: string) => `requests-user:${userId}`,
  requestsOfNetwork: (network: string) => `requests-network:${network}`,
  newAgents: (keyId: string) => `new-agents:${keyId}`,
} as const;
