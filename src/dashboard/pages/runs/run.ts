// A run as the list has it, and what names one.
import type { HostedReply } from '../../lib/hosted.ts';

export type Run = HostedReply<'hostedListRuns'>['runs'][number];

export const runKey = (agent: string, session: string): string => JSON.stringify([agent, session]);
