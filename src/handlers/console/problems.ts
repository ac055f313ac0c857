// Values that come another way than through the pipeline (ingest, WebSocket), checked with the same words.
import type { z } from 'zod';
import { HubError, type Problem } from '../../domain/error.ts';

const maxProblems = 50;

/** The error of a request that does not fit its declaration. */
export const validationFailed = (problems: readonly Problem[]): HubError =>
  new HubError('validation_failed', 'The request does not fit its declaration.', {
    problems: problems.slice(0, maxProblems),
  });

export const problemsOf = (error: z.ZodError, where: 'body' | 'query' | 'path'): readonly Problem[] =>
  error.issues.map(({ path, message }) => ({
    loc: [where, ...path.map((key) => (typeof key === 'number' ? key : String(key)))],
    msg: message,
  }));

/** The value as the schema reads it. @throws HubError validation_failed */
export function checked<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: 'body' | 'query' | 'path' = 'body',
): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw validationFailed(problemsOf(result.error, where));
  return result.data;
}
