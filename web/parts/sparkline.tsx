/** A small drawing of a few numbers, one bar each. What it shows is said in words beside it. */

type Props = { values: readonly number[] /** In words. */; label: string };

const WIDTH = 100;
const HEIGHT = 24;
/** What is there must be seen, however little it is. */
const LEAST = 2;

export function Sparkline({ values, label }: Props) {
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} class="base" />
      {values.map((value, at) => {
        const height = value === 0 ? 0 : Math.max(LEAST, (value / most) * (HEIGHT - 1));
        return (
          <rect
            key={at}
            x={at * step + step * 0.1}
            width={step * 0.8}
            y={HEIGHT - 1 - height}
            height={height}
          />
        );
      })}
    </svg>
  );
}
