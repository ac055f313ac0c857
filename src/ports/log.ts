// Structured logging. Callers pass no secret: no key, password, token, cookie or channel configuration.

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
