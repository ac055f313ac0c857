// Signing in through the installation's identity provider. A person is an account there (issuer and subject): linked by
// that person while signed in, by an open invitation to the verified e-mail, or made at the first sign-in. An e-mail
// alone never links one. Roles follow the claims at each sign-in, unless they are given here.

import type { ApprovalAssignments } from '../../approval/use-cases/assignments.ts';
import { noted } from '../../audit/note.ts';
import { anyEnv, type EnvRole, isAdmin, rolesText } from '../../shared/env-roles.ts';
import { HubError } from '../../shared/error.ts';
import type { Claims } from '../../shared/ports/jwt.ts';
import type { SignInProvider } from '../../shared/ports/sign-in-provider.ts';
import { type OperatorRole, systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { emailClaims, type User } from '../record.ts';
import { inviteHash, inviteOf } from '../rules/invite.ts';
import { type OidcSettings, roleOf, rolesIn, textAt } from '../rules/oidc.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { counted, type Logins, type NewLogin, type Origin } from './logins.ts';
import { isSoundReturn, readState, type SignInState, sealState, stateMs } from './oidc-state.ts';

/** The query and the cookies that a browser brings back from the identity provider. */
export interface ReturnedBrowser {
  readonly query: string;
  readonly state: string | null;
  readonly token: string | null;
}

export interface FinishedSignIn {
  readonly login: NewLogin | null;
  readonly returnTo: string;
}

export interface OidcLogins {
  /**
   * Where the browser goes, and the state that it must bring back.
   * @param token of the login of a person who links the account; null for a sign-in
   * @throws HubError unauthenticated, validation_failed, unavailable
   */
  begin(request: { readonly returnTo: string | null; readonly token: string | null }): Promise<{
    readonly url: string;
    readonly state: string;
  }>;
  /**
   * Result of a browser's return: a login (null for a person who linked an account), and the browser's next address.
   * @throws HubError unauthenticated when anything does not fit; conflict, forbidden with a text for the person
   */
  finish(back: ReturnedBrowser, origin: Origin): Promise<FinishedSignIn>;
  /** True for the state of a person who links an account. */
  isLinking(state: string): boolean;
  /** Ends the logins that a logout token names. @throws HubError unauthenticated */
  loggedOut(logoutToken: string): Promise<void>;
}

type Ports = Pick<
  AppPorts,
  'store' | 'broadcast' | 'secrets' | 'clock' | 'settings' | 'limits' | 'meters'
> & {
  readonly provider: SignInProvider;
  readonly issuer: Pick<IdentityProvider, 'verifyLogout' | 'tenantOf'>;
  readonly logins: Pick<Logins, 'signInAs' | 'getPerson'>;
  readonly approvalAssignments: Pick<ApprovalAssignments, 'release'>;
  readonly oidc: OidcSettings;
};

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** A person who was made, and whose account is not linked yet because the hub died, is linked by the next sign-in. */
const unfinishedMs = 60 * 60_000;
const maxLogins = 1_000;

const refused = (): HubError =>
  new HubError('unauthenticated', 'This sign-in is not valid any more. Start again from the sign-in page.');

export const createOidcLogins = (ports: Ports): OidcLogins => ({
  async begin({ returnTo, token }) {
    const { logins, secrets, clock, provider } = ports;
    const person = token === null ? null : await logins.getPerson(token);
    if (token !== null && !person) {
      throw new HubError('unauthenticated', 'Sign in first: only a signed-in person can link an account.');
    }
    if (returnTo !== null && !isSoundReturn(returnTo)) {
      throw new HubError('validation_failed', 'return_to must be a path below /dashboard/.', {
        fields: [{ field: ['returnTo'], message: 'must be a path below /dashboard/' }],
      });
    }
    const request = { state: secrets.token(32), nonce: secrets.token(32), verifier: secrets.token(32) };
    const state: SignInState = {
      ...request,
      returnTo: returnTo ?? '/dashboard/',
      linkTo: person?.id ?? null,
      expiresAt: clock.now() + stateMs,
    };
    return { url: await provider.begin(redirectUri(ports), request), state: sealState(ports, state) };
  },

  isLinking: (state) => typeof readState(ports, state)?.linkTo === 'string',

  finish: (back, origin) => counted(ports.meters, 'oidc', finish(ports, back, origin)),

  async loggedOut(logoutToken) {
    const { issuer, oidc, store, clock, broadcast, approvalAssignments } = ports;
    const claims = await issuer.verifyLogout(logoutToken, oidc.login?.clientId ?? '');
    const { sub, sid, events, nonce } = claims;
    const isLogout = typeof events === 'object' && events !== null && logoutEvent in events;
    if (!isLogout || nonce !== undefined) {
      throw new HubError('unauthenticated', 'The token is no logout token of the identity provider.');
    }
    const identity = typeof sub === 'string' ? await store.identities.get(oidc.issuer, sub) : null;
    const logins = identity
      ? await store.logins.listOfUser(identity.userId, clock.now(), maxLogins)
      : await store.logins.listOfProviderSession(String(sid ?? ''), clock.now(), maxLogins);
    const people = new Map<string, string>();
    for (const { tokenHash, method, providerSession, userId, tenantId } of logins) {
      if (method !== 'oidc' || (typeof sid === 'string' && providerSession !== sid)) continue;
      await store.logins.remove(tokenHash);
      await broadcast.control({ kind: 'login_ended', tokenHash });
      people.set(userId, tenantId);
    }
    for (const [userId, tenantId] of people) await approvalAssignments.release(tenantId, userId);
  },
});

const redirectUri = ({ settings }: Ports): string =>
  `${settings.baseUrl.replace(/\/$/, '')}/auth/oidc/callback`;

/** A verified e-mail, lower-cased; null: there is none. */
function emailOf(claims: Claims): string | null {
  const { email, isVerified } = emailClaims(claims);
  return email !== null && isVerified === true && email.length <= 255 ? email.toLowerCase() : null;
}

const noteOf = (
  ports: Ports,
  user: User,
  action: 'user.linked' | 'user.created' | 'user.roles_changed',
  details = {},
) =>
  noted(ports, systemPrincipal(user.tenantId, 'oidc'), {
    action,
    subject: { id: user.id, name: user.email },
    summary: `${user.email} came by the identity provider: ${action.slice(5).replace('_', ' ')}.`,
    details,
  });

async function link(ports: Ports, user: User, subject: string): Promise<void> {
  const identity = {
    issuer: ports.oidc.issuer,
    subject,
    userId: user.id,
    tenantId: user.tenantId,
    linkedAt: ports.clock.now(),
  };
  const isLinked = (await noteOf(ports, user, 'user.linked').identities.create(identity)) === 'created';
  if (!isLinked) throw accountTaken();
}

/** Before anything changes. @throws HubError conflict for an account that cannot become this person's */
async function requireLinkable(ports: Ports, person: User, subject: string): Promise<void> {
  const { store, oidc } = ports;
  const owner = await linkedUser(ports, subject);
  const account = await store.identities.getOfUser(person.id);
  const isSameAccount = account?.issuer === oidc.issuer && account.subject === subject;
  if ((owner && owner.id !== person.id) || (account && !isSameAccount)) throw accountTaken();
}

/** Roles for a sign-in by these claims. @throws HubError forbidden */
function rolesOf({ oidc }: Ports, claims: Claims): readonly EnvRole[] {
  const claimedRoles = oidc.rolesFrom === 'here' ? [] : rolesIn(claims, oidc);
  if (claimedRoles.length > 0) return claimedRoles;
  if (oidc.rolesFrom === 'here') return [{ role: oidc.defaultRole ?? 'viewer', env: anyEnv }];
  throw new HubError(
    'role_required',
    'Your account has no role on this hub. Ask an admin of the identity provider for one.',
  );
}

const foreignWorkspace = (): HubError =>
  new HubError(
    'forbidden',
    'Your account names no workspace that this hub knows. Ask the operator of the hub to link it.',
  );

/**
 * The tenant of the workspace in the claims; null where they name none, and while no workspace of the issuer is linked.
 * @param maker the role of a person whose workspace may get a tenant of its own; null: none is made
 * @throws HubError forbidden for a workspace that is not linked, beside one that is
 */
async function claimedTenant(
  { oidc, issuer, store }: Ports,
  claims: Claims,
  maker: OperatorRole | null,
): Promise<string | null> {
  const workspaceId = textAt(claims, oidc.workspaceClaims);
  if (workspaceId === null) return null;
  const tenant = await issuer.tenantOf(workspaceId, maker);
  if (tenant === null && (await store.workspaces.hasAny(oidc.issuer))) throw foreignWorkspace();
  return tenant;
}

/** The tenant of the workspace in the claims, or the only one. @throws HubError forbidden */
async function tenantOf(ports: Ports, claims: Claims, roles: readonly EnvRole[]): Promise<string> {
  const tenant = await claimedTenant(ports, claims, roleOf(roles));
  if (tenant !== null) return tenant;
  const [only, another] = await ports.store.tenants.listIds();
  if (only !== undefined && another === undefined) return only;
  throw foreignWorkspace();
}

async function createPerson(ports: Ports, claims: Claims, email: string | null): Promise<User> {
  const { clock, secrets } = ports;
  const roles = rolesOf(ports, claims);
  const tenantId = await tenantOf(ports, claims, roles);
  if (email === null) {
    throw new HubError(
      'forbidden',
      'The identity provider gives no verified e-mail address for your account.',
    );
  }
  const now = clock.now();
  const passwordHash = inviteHash({
    secretHash: secrets.sha256(secrets.token(32)),
    expiresAt: now + unfinishedMs,
  });
  const user: User = { id: secrets.uuid(), tenantId, email, passwordHash, roles, createdAt: now };
  const added = await noteOf(ports, user, 'user.created', { roles: rolesText(roles) }).tenants.createUser(
    user,
  );
  if (added !== 'created') throw emailTaken();
  return user;
}

const accountTaken = (): HubError =>
  new HubError(
    'conflict',
    'This account of the identity provider belongs to another person of this hub, or you have another account there.',
  );

const lastAdmin = (): HubError =>
  new HubError(
    'conflict',
    'You are the last admin here, and the identity provider gives your account no admin role. Give it the role there, ' +
      'or make another user an admin first.',
  );

const emailTaken = (): HubError =>
  new HubError(
    'conflict',
    'A person with your e-mail address exists here, and the account is not linked. Sign in as before, then open ' +
      'Settings and press “Link account”; or ask an admin for an invitation.',
  );

/** The person of an account that is not linked: of an open invitation, or a new one. */
async function newcomer(ports: Ports, claims: Claims, subject: string): Promise<User> {
  const { store, clock, secrets } = ports;
  const email = emailOf(claims);
  const existingUser = email === null ? null : await store.tenants.getUserByEmail(email);
  const invite = existingUser && inviteOf(existingUser);
  if (existingUser && (!invite || invite.expiresAt <= clock.now())) throw emailTaken();
  // Before the account is linked and the invitation used up: without a role, neither happens.
  const roles = existingUser && (await rolesNow(ports, existingUser, claims));
  const user = existingUser ?? (await createPerson(ports, claims, email));
  await link(ports, user, subject);
  // The invitation is used up.
  const passwordHash = `none$${secrets.token(16)}`;
  if (!(await store.tenants.updatePassword(user.id, user.passwordHash, passwordHash))) throw refused();
  return withRoles(ports, { ...user, passwordHash }, roles ?? user.roles);
}

/** The person of a linked account; null if there is none, or if the person was removed. */
async function linkedUser({ store, oidc }: Ports, subject: string): Promise<User | null> {
  const identity = await store.identities.get(oidc.issuer, subject);
  if (!identity) return null;
  const user = await store.tenants.getUser(identity.userId);
  // A removal that was interrupted leaves the link of nobody.
  if (!user) await store.identities.removeOfUser(identity.userId);
  return user;
}

/** The roles that these claims give to a person of this hub. @throws HubError forbidden */
async function rolesNow(ports: Ports, user: User, claims: Claims): Promise<readonly EnvRole[]> {
  const roles = ports.oidc.rolesFrom === 'here' ? user.roles : rolesOf(ports, claims);
  // With several organisations, the claims are of the one in which the person signed in.
  const tenant = await claimedTenant(ports, claims, null);
  if (tenant === null || tenant === user.tenantId) return roles;
  throw new HubError(
    'forbidden',
    'You signed in to another workspace at the identity provider. Choose the workspace of this hub there.',
  );
}

/**
 * The person with the roles that the claims give now.
 * @param evenLastAdmin default: true, because the provider decides about roles
 * @throws HubError conflict for the last admin
 */
async function withRoles(
  ports: Ports,
  user: User,
  roles: readonly EnvRole[],
  evenLastAdmin = true,
): Promise<User> {
  if (rolesText(roles) === rolesText(user.roles)) return user;
  const details = { before: rolesText(user.roles), after: rolesText(roles) };
  const noting = noteOf(ports, user, 'user.roles_changed', details);
  const changed = await noting.tenants.updateRoles(user.tenantId, user.id, roles, evenLastAdmin);
  if (changed === 'last_admin') throw lastAdmin();
  if (typeof changed === 'string') throw refused();
  await ports.broadcast.control({ kind: 'user_roles_changed', userId: user.id });
  return changed;
}

async function finish(
  ports: Ports,
  { query, state: sealed, token }: ReturnedBrowser,
  origin: Origin,
): Promise<FinishedSignIn> {
  const { limits, secrets, provider, logins } = ports;
  const state = readState(ports, sealed);
  if (!state) throw refused();
  // Once, on whichever node.
  const { ok } = await limits.hit(`oidcState:${secrets.sha256(state.state)}`, 1, stateMs);
  if (!ok) throw refused();
  const claims = await provider.finish(new URL(`${redirectUri(ports)}?${query}`), state);
  const subject = typeof claims.sub === 'string' && claims.sub.length <= 255 ? claims.sub : null;
  if (subject === null) throw refused();
  if (state.linkTo !== null) {
    const person = token === null ? null : await logins.getPerson(token);
    if (person?.id !== state.linkTo) throw refused();
    await requireLinkable(ports, person, subject);
    const roles = await rolesNow(ports, person, claims);
    // Less than now is given before the link: the refusal for the last admin leaves everything as it was.
    const user = isAdmin(roles) ? person : await withRoles(ports, person, roles, false);
    await link(ports, user, subject);
    await withRoles(ports, user, roles);
    return { login: null, returnTo: state.returnTo };
  }
  const existingUser = await linkedUser(ports, subject);
  const user = existingUser
    ? await withRoles(ports, existingUser, await rolesNow(ports, existingUser, claims))
    : await newcomer(ports, claims, subject);
  const session = typeof claims.sid === 'string' ? claims.sid.slice(0, 255) : null;
  return { login: await logins.signInAs(user, origin, session), returnTo: state.returnTo };
}
