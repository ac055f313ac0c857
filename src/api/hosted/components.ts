// The schemas of the hosted API that have a name of their own (src/api/components.ts).
import type { z } from 'zod';
import { auditEntry, auditSubjectType } from './audit.ts';

export const hostedComponents: { readonly [name: string]: z.ZodType } = {
  AuditEntry: auditEntry,
  AuditSubjectType: auditSubjectType,
};
