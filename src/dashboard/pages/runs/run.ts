// A run from the list, and its key.
import type { HostedReply } from '../../lib/hosted.ts';

export type Run = HostedReply<'hostedListRuns'>['runs'][number];

export const runKey = (agent: string, session: string): string => JSON.stringify([agent, session]);
