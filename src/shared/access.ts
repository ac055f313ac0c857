// Checks of rights that use cases share. Keeps promise P47.
import { refused } from './error.ts';
import type { Principal, Role } from './principal.ts';

const words: { readonly [R in Role]: string } = {
  agent: 'This request needs an API key. Send one as a bearer token.',
  viewer: 'Your credentials do not allow reading. Use a role or an API key that does.',
  operator: 'Your role does not allow changes. Ask an admin for the role operator.',
  admin: 'Admin access required.',
};

/** @throws HubError forbidden when the principal has not the role */
export function requireRole(principal: Principal, role: Role): void {
  if (!principal.roles.has(role)) throw refused('role_required', words[role]);
}
