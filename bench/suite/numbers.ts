// Numbers as text for people.

/** Three significant digits at least. */
export const formatNumber = (value: number | null): string => {
  if (value === null) return 'not measured';
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
};
