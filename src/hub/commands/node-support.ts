// The versions of Node that Reeve is for: those that the Node project supports.
const oldestSupported = 22;

/** One line about a Node that its project no longer supports; null for a supported one. @param version `20.19.0` */
export function nodeNotice(version: string): string | null {
  const [major = ''] = version.split('.');
  if (Number(major) >= oldestSupported) return null;
  return `Node ${major} is out of support. Reeve still runs on it; install Node 24 or 22.`;
}
