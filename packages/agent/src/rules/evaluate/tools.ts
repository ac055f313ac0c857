// Side effects of a tool call: from the bundle's `tools`, or from the command of a shell.
import type { SideEffect, ToolTraits } from '../bundle/rule.ts';
import type { ToolCall } from './call.ts';

/**
 * Commands that only read, whatever their arguments. Those with a flag that writes or runs (sort, find, date) are left
 * out.
 */
const readingCommands: ReadonlySet<string> = new Set([
  ...[
    'ls',
    'cat',
    'head',
    'tail',
    'wc',
    'pwd',
    'whoami',
    'id',
    'echo',
    'which',
    'stat',
    'du',
    'df',
    'uname',
    'grep',
    'cut',
  ],
  ...['basename', 'dirname', 'realpath', 'readlink', 'md5sum', 'sha256sum', 'git status'],
]);

/** The side effect of a call. A tool named `Bash` is judged by its command; a tool nobody described is irreversible. */
export function sideEffectOf(call: ToolCall, tools: ReadonlyMap<string, ToolTraits>): SideEffect {
  if (call.tool === 'Bash')
    return commandSideEffect(Object.hasOwn(call.args, 'command') ? call.args.command : '');
  return tools.get(call.tool)?.sideEffect ?? 'irreversible';
}

/**
 * True if a result must be shown although a post contract would hide the result: the bundle declares that the tool
 * changes something, so the agent must learn about the change. An undeclared tool is not known to change anything.
 */
export const mustBeSeen = (call: ToolCall, tools: ReadonlyMap<string, ToolTraits>): boolean => {
  if (!tools.has(call.tool)) return false;
  const sideEffect = sideEffectOf(call, tools);
  return sideEffect === 'write' || sideEffect === 'irreversible';
};

function commandSideEffect(command: unknown): SideEffect {
  if (command === undefined || command === null) return 'read';
  if (typeof command !== 'string') return 'irreversible';
  if (/[\n\r$>|;`]|<\(|<<|&&|&|#\{/.test(command)) return 'irreversible';
  const words = command.trim().split(/\s+/, 2);
  const first = words[0] ?? '';
  return first === '' || readingCommands.has(first) || readingCommands.has(words.join(' '))
    ? 'read'
    : 'irreversible';
}
