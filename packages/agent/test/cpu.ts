// The processor time of a synchronous piece of work: unlike the wall's, it does not grow with what else the machine
// does.

/** Milliseconds of this process. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
