// Who may: the checks of rights that use cases share.
import { refused } from '../domain/error.ts';
import type { Principal, Role } from '../domain/principal.ts';

const words: { readonly [R in Role]: string } = {
  agent: 'This needs an API key.',
  viewer: 'This needs the right to read.',
  operator: 'This needs the right to change things.',
  admin: 'Admin access required.',
};

/** @throws HubError forbidden when the principal has not the role */
export function requireRole(principal: Principal, role: Role): void {
  if (!principal.roles.has(role)) throw refused('role_required', words[role]);
}
