// The part that routes for the operator of an installation have in common.

export const operatorRoute = {
  auth: ['operatorToken'],
  role: 'installation',
  envs: 'none',
  tag: 'operator',
  limit: 'operator',
} as const;
