// The users of a tenant: sign-in, the admin role, and passwords. Changes end the logins that they affect.

import { limits, type OwnLimits } from '../../admission/limit.ts';
import type { ApprovalAssignments } from '../../approval/use-cases/assignments.ts';
import { noted, recorded } from '../../audit/note.ts';
import { requireRole } from '../../shared/access.ts';
import { adminRoles, type EnvRole, isAdmin, memberRoles, rolesText } from '../../shared/env-roles.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { User } from '../record.ts';
import { newInvitation } from './invitations.ts';
import { requirePasswords } from './logins.ts';

export interface NewPerson {
  /** Lower-cased. */
  readonly email: string;
  /** Null: the person is invited, and chooses one. */
  readonly password: string | null;
  readonly roles: readonly EnvRole[];
}

export interface Added {
  readonly user: User;
  /** Of somebody without a password. */
  readonly inviteUrl: string | null;
}

export interface PasswordChange {
  readonly oldPassword: string;
  readonly newPassword: string;
  /** The login that asks: it goes on. */
  readonly tokenHash: string;
}

/** Name of a change of roles in the audit log. */
function becomes(before: readonly EnvRole[], after: readonly EnvRole[]): string {
  if (isAdmin(before) === isAdmin(after)) return 'roles_changed';
  return isAdmin(after) ? 'made_admin' : 'made_member';
}

/** `is_admin` in the words of roles: who loses it becomes an operator, and nobody else changes. */
function rolesAfter(roles: readonly EnvRole[], role: 'admin' | 'member'): readonly EnvRole[] {
  if (role === 'admin') return isAdmin(roles) ? roles : adminRoles;
  return isAdmin(roles) ? memberRoles : roles;
}

type Ports = Pick<AppPorts, 'store' | 'broadcast' | 'secrets' | 'clock' | 'settings'> & {
  readonly approvalAssignments: Pick<ApprovalAssignments, 'release'>;
};

export class People {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** By e-mail. @throws HubError forbidden */
  async list(principal: Principal, page: PageRequest): Promise<Page<User>> {
    requireRole(principal, 'admin');
    return this.#ports.store.tenants.listUsers(principal.tenantId, page);
  }

  /** @throws HubError forbidden, conflict (the e-mail is taken) */
  async create(principal: Principal, { email, password, roles }: NewPerson): Promise<Added> {
    const { secrets, clock } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const id = secrets.uuid();
    const invitation = password === null ? newInvitation(this.#ports, id) : null;
    const passwordHash = invitation?.passwordHash ?? (await secrets.hashPassword(password ?? ''));
    const user = { id, tenantId, email, passwordHash, roles, createdAt: clock.now() };
    const became = invitation ? 'invited' : 'created';
    const added = await recorded(this.#ports, 'user', principal, became, user.id, {
      name: email,
      details: { after: { roles: rolesText(roles) } },
    }).tenants.createUser(user);
    if (added === 'created') return { user, inviteUrl: invitation?.url ?? null };
    if (added === 'no_tenant') throw notFound('Tenant not found.');
    throw new HubError('conflict', 'A user with this e-mail address already exists. Use another address.');
  }

  /**
   * A new link by which a user chooses a password: the old password, an old link and the user's logins end.
   * @throws HubError forbidden, not_found, conflict (the password changed in between)
   */
  async invite(
    principal: Principal,
    userId: string,
  ): Promise<{ readonly url: string; readonly expiresAt: number }> {
    requireRole(principal, 'admin');
    const user = await this.#ports.store.tenants.getUser(userId);
    if (user?.tenantId !== principal.tenantId) throw notFound('User not found.');
    const { url, expiresAt, passwordHash } = newInvitation(this.#ports, userId);
    const noting = recorded(this.#ports, 'user', principal, 'invited', userId, { name: user.email });
    if (!(await noting.tenants.updatePassword(userId, user.passwordHash, passwordHash))) {
      throw new HubError('conflict', 'The user changed the password just now. Repeat the request.');
    }
    await this.#endLogins(user);
    return { url, expiresAt };
  }

  /**
   * Replaces a user's roles. The user stays signed in: the roles hold from the next request on, and streams are opened
   * again. A repeat is safe.
   * @param nextRoles `admin` and `member` replace those of `is_admin`: a member who is no admin keeps what it has
   * @throws HubError forbidden, not_found, conflict (the last admin)
   */
  async updateRoles(
    principal: Principal,
    userId: string,
    nextRoles: readonly EnvRole[] | 'admin' | 'member',
  ): Promise<User> {
    const { store, settings, broadcast } = this.#ports;
    requireRole(principal, 'admin');
    const { tenantId } = principal;
    const before = await store.tenants.getUser(userId);
    if (before?.tenantId !== tenantId) throw notFound('User not found.');
    if (
      settings.oidc?.login &&
      settings.oidc.rolesFrom === 'claims' &&
      (await store.identities.getOfUser(userId))
    ) {
      throw new HubError(
        'managed_by_idp',
        'The identity provider decides about the roles of this person. Change them there, or set OIDC_ROLES=here.',
      );
    }
    const roles = typeof nextRoles === 'string' ? rolesAfter(before.roles, nextRoles) : nextRoles;
    // Nothing changes, and nothing is recorded.
    if (rolesText(before.roles) === rolesText(roles)) return before;
    const noting = noted(this.#ports, principal, {
      action: `user.${becomes(before.roles, roles)}`,
      subject: { id: userId, name: before.email },
      summary: `The roles of ${before.email} are now ${rolesText(roles)}.`,
      details: { before: rolesText(before.roles), after: rolesText(roles) },
    });
    const user = changed(await noting.tenants.updateRoles(tenantId, userId, roles));
    await broadcast.control({ kind: 'user_roles_changed', userId });
    return user;
  }

  /** Removes a user and ends the user's logins. @throws HubError forbidden, not_found, conflict (the last admin) */
  async remove(principal: Principal, userId: string): Promise<void> {
    requireRole(principal, 'admin');
    const user = changed(
      await recorded(this.#ports, 'user', principal, 'removed', userId).tenants.removeUser(
        principal.tenantId,
        userId,
      ),
    );
    await this.#ports.store.identities.removeOfUser(user.id);
    await this.#ports.store.views.removeOwn(principal.tenantId, user.id);
    await this.#endLogins(user);
  }

  /**
   * Changes the password of the signed-in user and ends all other logins of theirs.
   * @throws HubError forbidden (not a person, or a wrong old password), conflict (changed in between), rate_limited
   */
  async updatePassword(
    principal: Principal,
    { oldPassword, newPassword, tokenHash }: PasswordChange,
    counters: OwnLimits,
  ): Promise<void> {
    const { settings, store, secrets } = this.#ports;
    requirePasswords(settings);
    const { actor } = principal;
    const user = actor.kind === 'user' ? await store.tenants.getUser(actor.id) : null;
    if (!user) throw new HubError('forbidden', 'Only a signed-in user can change a password. Sign in first.');
    // Counted before the password is looked at, so that guesses at the same moment count each other; taken back when
    // it was right.
    await counters.count(limits.oldPasswords);
    if (!(await secrets.checkPassword(oldPassword, user.passwordHash, true))) {
      throw new HubError('forbidden', 'The old password is wrong. Enter it again.');
    }
    await counters.takeBack(limits.oldPasswords);
    const passwordHash = await secrets.hashPassword(newPassword);
    const { id, email } = user;
    const noting = recorded(this.#ports, 'user', principal, 'given_a_new_password', id, { name: email });
    if (!(await noting.tenants.updatePassword(user.id, user.passwordHash, passwordHash))) {
      throw new HubError('conflict', 'Another session changed the password. Sign in again.');
    }
    await this.#endLogins(user, tokenHash);
  }

  /** First in the store, so that a node which receives the message and looks finds none. */
  async #endLogins({ id: userId, tenantId }: User, except?: string): Promise<void> {
    await this.#ports.store.logins.removeOfUser(userId, except);
    await this.#ports.broadcast.control({
      kind: 'user_logins_ended',
      userId,
      ...(except === undefined ? {} : { except }),
    });
    if (except === undefined) await this.#ports.approvalAssignments.release(tenantId, userId);
  }
}

function changed(outcome: User | 'absent' | 'last_admin'): User {
  if (outcome === 'absent') throw notFound('User not found.');
  if (outcome !== 'last_admin') return outcome;
  throw new HubError(
    'conflict',
    'This user is the last admin in the tenant. Make another user an admin first.',
  );
}
