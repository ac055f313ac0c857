// Names in a call that the server may read as other names that contracts judge.
import type { Guard } from '../../guard/guard.ts';
import type { ToolPinSession } from '../../tools/tool-pins.ts';
import { codes, type Id, MessageError } from './message.ts';
import { findAmbiguousName } from './names.ts';
import type { ToolList } from './tool-list.ts';

/** Age of a list of tools after which a call makes the proxy list them again; milliseconds. */
const listAge = 60_000;

interface NamePorts {
  readonly guard: Guard;
  readonly pins: ToolPinSession | null;
  readonly tools: ToolList;
}

/** @throws MessageError for a name that another reader may take for a name that is judged; TypeError as a guard */
export async function checkCallNames(
  { guard, pins, tools }: NamePorts,
  tool: string,
  args: object,
  id: Id,
): Promise<void> {
  // If pins refuse nothing, the call does not wait for the list.
  const isOld = pins !== null && tools.isOlderThan(listAge);
  if (isOld && pins.mode !== 'observe') tools.refresh();
  await tools.ready();
  if (isOld && pins.mode === 'observe') tools.refresh();
  const wrong = (what: string, name: string, meant: string): MessageError => {
    const reason = `${what} ${JSON.stringify(name)} is refused, because the server may read it as ${JSON.stringify(meant)}`;
    return new MessageError(codes.params, reason, id);
  };
  const otherTool = tools.toolInOtherCase(tool);
  if (otherTool !== null) throw wrong('the tool', tool, otherTool);
  const ambiguous = findAmbiguousName(args, guard.argumentPaths(tool), tools.schemaOf(tool));
  if (ambiguous) throw wrong('the argument', ambiguous.name, ambiguous.meant);
}
