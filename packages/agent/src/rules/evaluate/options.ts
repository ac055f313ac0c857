// The options of an engine: everything beside the documents that verdicts depend on.
import type { LanguageOptions } from '../bundle/document.ts';
import type { SessionLimits } from '../bundle/rule.ts';
import type { ToolArguments } from '../sandbox/names.ts';
import type { Files } from '../sandbox/path.ts';
import type { CommandProfiles } from '../sandbox/profiles/profile.ts';
import type { CustomOperator } from './operator.ts';
import type { CustomSelector } from './selector.ts';

export interface EngineOptions extends Omit<LanguageOptions, 'operators'> {
  /** Operators beyond the 15 built-in ones, by name. */
  readonly operators?: Readonly<Record<string, CustomOperator>>;
  /** Selectors beyond the built-in ones, by prefix. */
  readonly selectors?: Readonly<Record<string, CustomSelector>>;
  /** Values of `env.NAME`; by default every one is missing. A server must leave it so. */
  readonly env?: (name: string) => string | undefined;
  /** Which values messages must not show; default: those that redaction hides. */
  readonly looksSecret?: (value: string) => boolean;
  /** File system for sandboxes; default: none, and paths are judged by text alone. */
  readonly files?: Files;
  /** Kinds of the tools' arguments, for sandboxes; default: derived from names and values. */
  readonly toolArguments?: ToolArguments;
  /** Profiles of programs for commands in sandboxes, beside the built-in ones or in their place. */
  readonly commandProfiles?: CommandProfiles;
  /** Limits of a session beside those of the documents; default: none. */
  readonly limits?: SessionLimits;
  /** Commands are run by a shell whose quotes are not those of POSIX. Default false. */
  readonly windows?: boolean;
}
