// The limits of what a node does at once and of what waits on it: per whom, how much, and the refusal above that. The
// one table of these numbers; docs/limits.md is made from it. Limits over time are in admission/limit.ts. Browser-safe.

import { requestClasses, socketClasses } from './edge-classes.ts';
import { queueClasses, workClasses } from './work-classes.ts';

export const admissionTable = {
  ...requestClasses,
  ...socketClasses,
  ...workClasses,
  ...queueClasses,
} as const;

export type AdmissionName = keyof typeof admissionTable;
