// `reeve-agent/exec`: runs a program for a tool, contained by the operating system.
export { type ExecOptions, type ExecResult, exec } from './exec.ts';
export { IsolationError, type IsolationMode } from './isolation.ts';
