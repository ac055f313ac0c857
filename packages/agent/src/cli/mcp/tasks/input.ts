// Questions of a task's tool to its client's user: `tasks/get` shows them, and `tasks/update` brings the answers.
import { type Fields, fieldsOf, isObject, without } from '../../../fields.ts';
import type { Request } from '../message.ts';

/** Questions of one round of a call. */
export interface TaskInput {
  /** All of them, by the client's keys. */
  readonly requests: Fields;
  /** Answers so far, by the client's keys. */
  readonly answers: Fields;
  /** The server's own state; null if it gave none. */
  readonly state: string | null;
}

/**
 * @param result of the kind `input_required`
 * @param round makes the keys unique in the life of the task
 */
export function inputOf({ inputRequests, requestState }: Fields, round: number): TaskInput {
  const requests = Object.entries(fieldsOf(inputRequests)).map(([key, request]) => [
    `${round}.${key}`,
    request,
  ]);
  return {
    requests: Object.fromEntries(requests),
    answers: {},
    state: typeof requestState === 'string' ? requestState : null,
  };
}

/** Questions without an answer. */
export const pendingRequests = ({ requests, answers }: TaskInput): Fields =>
  without(requests, ...Object.keys(answers));

export const isAnswered = (input: TaskInput): boolean => Object.keys(pendingRequests(input)).length === 0;

/**
 * Answers to other questions, and second ones, are left out.
 * @param responses by the client's keys
 * @returns null if an answer is no object
 */
export function withAnswers(input: TaskInput, responses: Fields): TaskInput | null {
  const pending = pendingRequests(input);
  const fresh = Object.entries(responses).filter(([key]) => Object.hasOwn(pending, key));
  const areObjects = fresh.every(([, answer]) => isObject(answer));
  return areObjects ? { ...input, answers: { ...input.answers, ...Object.fromEntries(fresh) } } : null;
}

/** Answers by the server's keys. */
export const answersOf = ({ answers }: TaskInput): Fields =>
  Object.fromEntries(
    Object.entries(answers).map(([key, answer]) => [key.slice(key.indexOf('.') + 1), answer]),
  );

/** The request for the server: with its own state, and the answers to its questions. */
export function answering(request: Request, input: TaskInput | null): Request {
  if (!input) return request;
  const state = input.state === null ? {} : { requestState: input.state };
  return { ...request, params: { ...request.params, inputResponses: answersOf(input), ...state } };
}
