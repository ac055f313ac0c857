// Assignment rules: which agents get which bundle unless they are assigned one by name. Changes go through the tenant's
// actor, in order.

import { changeBy, noteOf } from '../../audit/note.ts';
import { auditActor } from '../../audit/record.ts';
import type { JsonObject } from '../../contract/record.ts';
import { requireRole, seesAgent, seesEnv, visibleEnvs } from '../../shared/access.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import { type IfMatch, requireMatch } from '../../shared/if-match.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { AssignmentRule, Tags } from '../record.ts';
import { type Resolution, unassigned } from '../rules/assignment.ts';

export interface NewRule {
  readonly priority: number;
  /** A glob of printable ASCII over agent ids, without slashes. */
  readonly pattern: string;
  readonly tagMatch: Tags | null;
  readonly bundleName: string;
  readonly env: Env;
}

const globPattern = /^[\x20-\x2e\x30-\x5b\x5d-\x7e]+$/;

/** @throws HubError bad_request for other than printable ASCII, and for path separators */
function checkPattern(pattern: string): void {
  if (globPattern.test(pattern)) return;
  throw new HubError(
    'bad_request',
    "A rule's pattern must be printable ASCII text without '/' and '\\'. Change the pattern.",
  );
}

/** Fields of a rule that a person chooses. */
const fieldsOf = ({
  priority,
  pattern,
  tagMatch,
  bundleName,
  env,
}: Omit<AssignmentRule, 'id' | 'tenantId' | 'createdAt'>) => ({
  priority,
  pattern,
  tagMatch,
  bundleName,
  env,
});

type Ports = Pick<AppPorts, 'store' | 'actors' | 'ruleSets' | 'secrets' | 'clock'> & {
  readonly environments: Pick<Environments, 'requireChange'>;
};

export class AssignmentRules {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** By priority. */
  async list(principal: Principal): Promise<readonly AssignmentRule[]> {
    return (await this.#ports.store.rules.list(principal.tenantId)).filter((rule) =>
      seesEnv(principal, rule.env),
    );
  }

  /**
   * @throws HubError forbidden, bad_request (the pattern), conflict (the priority is taken), unprocessable (too many)
   */
  async create(principal: Principal, rule: NewRule): Promise<AssignmentRule> {
    const { environments, secrets, actors, clock } = this.#ports;
    requireRole(principal, 'operator');
    checkPattern(rule.pattern);
    await environments.requireChange(principal, [rule.env]);
    const { tenantId } = principal;
    const id = secrets.uuid();
    return actors.ask('tenant', tenantId, 'changeRule', {
      action: 'create',
      rule: { ...rule, id, tenantId, createdAt: clock.now() },
      note: this.#noteOn(
        principal,
        id,
        rule.pattern,
        'created',
        `An assignment rule for ${rule.pattern} was added with the bundle ${rule.bundleName}.`,
        { env: rule.env, ...changeBy(this.#ports, null, fieldsOf(rule)) },
      ),
    });
  }

  /**
   * @param ifMatch hash of the rule
   * @throws HubError forbidden, bad_request, changed, conflict, not_found
   */
  async update(
    principal: Principal,
    id: string,
    patch: Partial<NewRule>,
    ifMatch: IfMatch = null,
  ): Promise<AssignmentRule> {
    requireRole(principal, 'operator');
    if (patch.pattern !== undefined) checkPattern(patch.pattern);
    const rule = await this.#changeable(principal, id, ifMatch);
    if (patch.env !== undefined) await this.#ports.environments.requireChange(principal, [patch.env]);
    return this.#ports.actors.ask('tenant', principal.tenantId, 'changeRule', {
      action: 'update',
      id,
      patch,
      ifEnv: rule.env,
      ...(ifMatch === null ? {} : { ifMatch }),
      note: this.#noteOn(principal, id, rule.pattern, 'updated', 'An assignment rule was changed.', {
        envs: [...new Set([rule.env, patch.env ?? rule.env])],
        ...changeBy(this.#ports, fieldsOf(rule), patch),
      }),
    });
  }

  /** @throws HubError forbidden, changed, conflict (moved to another environment), not_found */
  async remove(principal: Principal, id: string, ifMatch: IfMatch = null): Promise<void> {
    requireRole(principal, 'operator');
    const rule = await this.#changeable(principal, id, ifMatch);
    await this.#ports.actors.ask('tenant', principal.tenantId, 'changeRule', {
      action: 'delete',
      id,
      ifEnv: rule.env,
      ...(ifMatch === null ? {} : { ifMatch }),
      note: this.#noteOn(principal, id, rule.pattern, 'deleted', 'An assignment rule was deleted.', {
        env: rule.env,
        ...changeBy(this.#ports, fieldsOf(rule), null),
      }),
    });
  }

  /**
   * Resolves the bundle that an agent would get, with the reason.
   * @param env null for the rules of all environments that the principal sees; 'unknown' for a missing environment,
   * which has no rules
   */
  async resolve(principal: Principal, agentId: string, env: Env | null | 'unknown'): Promise<Resolution> {
    const { store, ruleSets } = this.#ports;
    const { tenantId } = principal;
    const [agent, rules] = await Promise.all([
      store.agents.get(tenantId, agentId),
      store.rules.list(tenantId),
    ]);
    const registration = agent && seesAgent(principal, agent) ? agent : null;
    const explicit = registration?.bundleName ?? null;
    if (env === 'unknown' && explicit === null) return unassigned;
    return ruleSets.of(tenantId, rules).resolve({
      agentId,
      env: env === null || env === 'unknown' ? visibleEnvs(principal) : env,
      tags: registration?.tags ?? {},
      explicit,
    });
  }

  #noteOn(
    principal: Principal,
    id: string,
    pattern: string,
    became: string,
    summary: string,
    details: JsonObject,
  ) {
    return noteOf(this.#ports, principal.tenantId, auditActor(principal), {
      action: `assignment_rule.${became}`,
      subject: { id, name: pattern },
      summary,
      details,
    });
  }

  /**
   * The rule as it is now.
   * @throws HubError not_found (with If-Match: changed) without a rule that the principal sees; forbidden unless the
   *   principal may change its environment
   */
  async #changeable(principal: Principal, id: string, ifMatch: IfMatch): Promise<AssignmentRule> {
    const rule = (await this.#ports.store.rules.list(principal.tenantId)).find((one) => one.id === id);
    if (!rule || !seesEnv(principal, rule.env)) {
      requireMatch(ifMatch, [], 'The assignment rule');
      throw notFound('Rule not found');
    }
    await this.#ports.environments.requireChange(principal, [rule.env]);
    return rule;
  }
}
