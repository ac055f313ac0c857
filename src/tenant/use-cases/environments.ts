// A tenant's environments: which are protected, and who may change there what agents enforce.
import { changeBy, recorded } from '../../audit/note.ts';
import { holdsRole, requireRole, seesEnv } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { roleIn } from '../../shared/env-roles.ts';
import { HubError } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import { actorName, type OperatorRole, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type EnvironmentPolicy, policyName } from '../rules/settings.ts';

export interface EnvironmentView extends EnvironmentPolicy {
  readonly env: Env;
  /** The strongest role of the caller there. */
  readonly role: OperatorRole;
  /** As `mayChange`. */
  readonly canChange: boolean;
}

export interface Environments {
  /** Environments in which the caller has a role. */
  list(principal: Principal): Promise<readonly EnvironmentView[]>;
  /** @throws HubError forbidden */
  updatePolicy(principal: Principal, env: Env, policy: EnvironmentPolicy): Promise<EnvironmentView>;
  /**
   * For what changes what agents enforce: deployments, assignments, rules, pins.
   * @param envs all environments that the change touches
   * @throws HubError forbidden (role_required) without the role operator in each of them; environment_protected when
   *   one is protected, and the principal is neither an admin nor an operator by a role that names it
   */
  requireChange(principal: Principal, envs: readonly Env[]): Promise<void>;
  /** True when `requireChange` lets the principal change this environment. */
  mayChange(principal: Principal, env: Env): Promise<boolean>;
  isProtected(tenantId: string, env: Env): Promise<boolean>;
}

/** Greatest age of a policy that a node read before, in milliseconds. */
const recentMs = 1_000;
const maxKnown = 3_000;
const unprotected: EnvironmentPolicy = { isProtected: false };

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'>;

class EnvironmentPolicies implements Environments {
  readonly #ports: Ports;
  readonly #recent = new BoundedMap<EnvironmentPolicy>(maxKnown);

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  list(principal: Principal): Promise<readonly EnvironmentView[]> {
    return Promise.all(
      environments.filter((env) => seesEnv(principal, env)).map((env) => this.#viewOf(principal, env)),
    );
  }

  async updatePolicy(principal: Principal, env: Env, policy: EnvironmentPolicy): Promise<EnvironmentView> {
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const before = (await this.#ports.store.settings.get(tenantId, policyName(env)))?.value ?? unprotected;
    if (before.isProtected !== policy.isProtected) {
      const details = { env, ...changeBy(this.#ports, before, policy) };
      const became = policy.isProtected ? 'protected' : 'unprotected';
      await recorded(this.#ports, 'setting', principal, became, env, { details }).settings.update({
        tenantId,
        name: policyName(env),
        value: policy,
        updatedAt: this.#ports.clock.now(),
        updatedBy: actorName(principal.actor),
      });
    }
    this.#recent.delete(`${tenantId} ${env}`);
    return this.#viewOf(principal, env);
  }

  async requireChange(principal: Principal, envs: readonly Env[]): Promise<void> {
    for (const env of envs) requireRole(principal, 'operator', env);
    for (const env of envs) {
      if (await this.mayChange(principal, env)) continue;
      throw new HubError(
        'environment_protected',
        `The environment ${env} is protected. Ask an admin, or an operator whose role names ${env}.`,
      );
    }
  }

  async mayChange(principal: Principal, env: Env): Promise<boolean> {
    if (!holdsRole(principal, 'operator', env)) return false;
    return reachesProtected(principal, env) || !(await this.isProtected(principal.tenantId, env));
  }

  async isProtected(tenantId: string, env: Env): Promise<boolean> {
    return (await this.#policyOf(tenantId, env)).isProtected;
  }

  async #policyOf(tenantId: string, env: Env): Promise<EnvironmentPolicy> {
    const key = `${tenantId} ${env}`;
    const now = this.#ports.clock.monotonic();
    const cached = this.#recent.get(key, now);
    if (cached) return cached;
    const policy = (await this.#ports.store.settings.get(tenantId, policyName(env)))?.value ?? unprotected;
    this.#recent.set(key, policy, now + recentMs);
    return policy;
  }

  async #viewOf(principal: Principal, env: Env): Promise<EnvironmentView> {
    return {
      env,
      ...(await this.#policyOf(principal.tenantId, env)),
      role: (principal.envRoles && roleIn(principal.envRoles, env)) ?? 'viewer',
      canChange: await this.mayChange(principal, env),
    };
  }
}

export const createEnvironments = (ports: Ports): Environments => new EnvironmentPolicies(ports);

/** An admin, an operator by a role that names the environment, or the hub itself. */
const reachesProtected = ({ envRoles }: Principal, env: Env): boolean =>
  envRoles === null ||
  envRoles.some((one) => one.role === 'admin' || (one.role === 'operator' && one.env === env));
