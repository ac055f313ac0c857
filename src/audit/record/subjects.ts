// The subjects of audit entries. Runs in browsers.

/** Subjects of entries. The first four are listed by default. */
export const auditSubjects = [
  'approval',
  'key',
  'ruleset',
  'run',
  'login',
  'user',
  'channel',
  'setting',
  'contract',
  'composition',
  'bundle',
  'assignment_rule',
  'operator_token',
  'signing_key',
  'tool',
  'service_account',
  'agent',
  'tenant',
  'view',
] as const;
