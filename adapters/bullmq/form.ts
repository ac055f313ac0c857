// How a job of the port looks in BullMQ: its id, what is kept beside the payload, its progress.

export interface Kept {
  /** As it was given: BullMQ's own cannot hold every text. */
  readonly id: string;
  readonly payload: unknown;
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
}

/** BullMQ refuses ids that are numbers or hold colons. */
export const redisId = (id: string): string => `j-${encodeURIComponent(id)}`;

/** BullMQ counts losses in a field of the job, which may be done by now. */
export const forgetLossesScript =
  "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'stc', 0) end";

export interface KeptProgress {
  readonly value: unknown;
}

/** The progress as the handler kept it; null before the first. */
export const progressOf = (progress: unknown): unknown =>
  typeof progress === 'object' && progress !== null && 'value' in progress ? progress.value : null;
