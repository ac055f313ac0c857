// Structured logging. Callers pass no secret: no key, password, token, cookie or channel configuration.

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Writes one line a call, with its fields, where the level lets it. The line has the names of fields in snake_case. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
