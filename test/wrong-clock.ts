// The clock of a process set wrong, as the system would: its monotonic clock and its timers stay as they are.

/** Settings of a process whose clock differs from this machine's by `ms`. */
export const wrongClock = (ms: number): { readonly NODE_OPTIONS: string } => {
  const code = `const R=Date,now=()=>R.now()+${ms};globalThis.Date=class extends R{constructor(...a){a.length?super(...a):super(now())}static now(){return now()}}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
};
