// A person's roles as text.
import type { Reply } from './api.ts';

export type Role = Reply<'me'>['roles'][number];

export const roleNames = {
  viewer: 'Viewer',
  approver: 'Approver',
  operator: 'Operator',
  admin: 'Admin',
} as const satisfies { readonly [R in Role['role']]: string };

/** `Operator everywhere, approver in staging` */
export function rolesText(roles: readonly Role[]): string {
  const parts = roles.map(
    ({ role, env }) => `${roleNames[role].toLowerCase()} ${env === '*' ? 'everywhere' : `in ${env}`}`,
  );
  const text = parts.join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
