// Roles of users, by environment.

/** Users have roles: an admin in all environments, or an operator. */
export const userRoles = `
ALTER TABLE users ADD COLUMN roles TEXT NOT NULL DEFAULT '[{"role":"operator","env":"*"}]';
UPDATE users SET roles = '[{"role":"admin","env":"*"}]' WHERE is_admin = 1;
ALTER TABLE users DROP COLUMN is_admin;
`;
