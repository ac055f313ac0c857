// A tool call as the rules see it, and what may be asked about it. No rule is evaluated here.
import { hasControl } from '../names.ts';
import type { Budget } from '../regex/regex.ts';
import type { ResultText } from './result-text.ts';

/** The principal of a call. Absent and null mean the same. */
export interface Principal {
  readonly user_id?: string | null;
  readonly service_id?: string | null;
  readonly org_id?: string | null;
  readonly role?: string | null;
  readonly ticket_ref?: string | null;
  readonly claims?: Readonly<Record<string, unknown>> | null;
}

export interface ToolCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Default `production`. */
  readonly environment?: string | null;
  readonly principal?: Principal | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
  /**
   * The folder the tool runs in, for sandboxes. Default: the agent's own, or the first folder of the sandbox where
   * there are no files.
   */
  readonly cwd?: string | null;
}

/** Inputs of one evaluation. */
export interface View {
  readonly call: ToolCall;
  /** The result of the tool; undefined before the call. */
  readonly output: unknown;
  /** The result as text, before the call as that of null. */
  readonly outputText: ResultText;
  /** Values of `env.NAME`; undefined is missing. */
  readonly env: (name: string) => string | undefined;
  readonly budget: Budget;
}

export const defaultEnvironment = 'production';

/** Problem of a tool name; null for a valid one. */
export function toolNameProblem(tool: unknown): string | null {
  if (typeof tool !== 'string' || tool.length === 0)
    return 'the tool name must be a string that is not empty';
  if (tool.length > 1000) return 'the tool name must have at most 1000 characters';
  if (hasControl(tool) || tool.includes('/') || tool.includes('\\')) {
    return 'the tool name must not contain control characters, / or \\';
  }
  return null;
}
