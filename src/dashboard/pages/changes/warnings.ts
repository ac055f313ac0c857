// The warnings of deployments that this tab made. The hub sends them once, with the deployment.
import type { Reply } from '../../lib/api.ts';

export type Warnings = Reply<'deployBundle'>['warnings'];

const warnings = new Map<string, Warnings>();

export const keepWarnings = (id: string, list: Warnings): void => void warnings.set(id, list);

export const warningsOf = (id: string): Warnings => warnings.get(id) ?? [];
