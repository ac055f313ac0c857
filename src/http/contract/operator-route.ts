// Words of the routes that the operator of an installation calls.

export const operated = {
  auth: ['operatorToken'],
  role: 'installation',
  envs: 'none',
  tag: 'operator',
  limit: 'operator',
} as const;
