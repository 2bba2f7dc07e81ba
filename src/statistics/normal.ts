/**
 * A ratio of two polynomials, coefficients from the constant term upwards. Where the argument can
 * exceed 1, the shorter is filled up with zeros.
 */
interface Ratio {
  readonly numerator: readonly number[];
  readonly denominator: readonly number[];
}

/** Value of a polynomial by Horner's rule. */
function polynomial(coefficients: readonly number[], x: number): number {
  let value = coefficients[coefficients.length - 1] as number;
  for (let index = coefficients.length - 2; index >= 0; index--) {
    value = (coefficients[index] as number) + x * value;
  }
  return value;
}

/** Value of x^n times a polynomial of degree n at 1/x. */
function reversedPolynomial(coefficients: readonly number[], x: number): number {
  let value = coefficients[0] as number;
  for (let index = 1; index < coefficients.length; index++) {
    value = (coefficients[index] as number) + x * value;
  }
  return value;
}

/** Value of a ratio; above 1 both polynomials are taken in 1/x, which loses fewer bits. */
function ratio({ numerator, denominator }: Ratio, x: number): number {
  if (x <= 1) return polynomial(numerator, x) / polynomial(denominator, x);
  return reversedPolynomial(numerator, 1 / x) / reversedPolynomial(denominator, 1 / x);
}

/**
 * erfc(x) for |x| < 0.84375: (erf(x) - x) / x in x². The four ratios are those of FreeBSD (msun,
 * s_erf.c).
 */
const ERFC_CENTER: Ratio = {
  numerator: [
    0.12837916709551256, -0.3250421072470015, -0.02848174957559851, -0.005770270296489442,
    -2.3763016656650163e-5,
  ],
  denominator: [
    1, 0.39791722395915535, 0.0650222499887673, 0.005081306281875766, 0.00013249473800432164,
    -3.960228278775368e-6,
  ],
};

/** erf(x) - ERF_NEAR_ONE for 0.84375 <= x < 1.25, in x - 1. */
const ERF_SHOULDER: Ratio = {
  numerator: [
    -0.0023621185607526594, 0.41485611868374833, -0.3722078760357013, 0.31834661990116175,
    -0.11089469428239668, 0.035478304325618236, -0.002166375594868791,
  ],
  denominator: [
    1, 0.10642088040084423, 0.540397917702171, 0.07182865441419627, 0.12617121980876164,
    0.01363708391202905, 0.011984499846799107,
  ],
};

/** ln(x erfc(x)) + x² + 0.5625 for 1.25 <= x < 1 / 0.35, in 1/x². */
const ERFC_TAIL: Ratio = {
  numerator: [
    -0.009864944034847148, -0.6938585727071818, -10.558626225323291, -62.375332450326006,
    -162.39666946257347, -184.60509290671104, -81.2874355063066, -9.814329344169145,
  ],
  denominator: [
    1, 19.651271667439257, 137.65775414351904, 434.56587747522923, 645.3872717332679,
    429.00814002756783, 108.63500554177944, 6.570249770319282, -0.0604244152148581,
  ],
};

/** The same for 1 / 0.35 <= x < 28. */
const ERFC_FAR_TAIL: Ratio = {
  numerator: [
    -0.0098649429247001, -0.799283237680523, -17.757954917754752, -160.63638485582192,
    -637.5664433683896, -1025.0951316110772, -483.5191916086514,
  ],
  denominator: [
    1, 30.33806074348246, 325.7925129965739, 1536.729586084437, 3199.8582195085955,
    2553.0504064331644, 474.52854120695537, -22.44095244658582,
  ],
};

/**
 * erfinv(x) / (x (x + 10)) - 0.0891 for 0 < x <= 0.5, in x. The five ratios are those of Boost
 * (erf_inv.hpp).
 */
const ERFINV_CENTER: Ratio = {
  numerator: [
    -0.0005087819496582806, -0.008368748197417368, 0.03348066254097446, -0.012692614766297404,
    -0.03656379714117627, 0.02198786811111689, 0.008226878746769157, -0.005387729650712429, 0, 0,
  ],
  denominator: [
    1, -0.9700050433032906, -1.5657455823417585, 1.5622155839842302, 0.662328840472003,
    -0.7122890234154284, -0.05273963823400997, 0.07952836873415717, -0.0023339375937419,
    0.0008862163904564247,
  ],
};

/** sqrt(-2 ln(1 - x)) / erfinv(x) - 2.2495 for 0.5 < x <= 0.75, in 0.75 - x. */
const ERFINV_SHOULDER: Ratio = {
  numerator: [
    -0.20243350835593876, 0.10526468069939171, 8.3705032834312, 17.644729840837403,
    -18.851064805871424, -44.6382324441787, 17.445385985570866, 21.12946554483405,
    -3.6719225470772936,
  ],
  denominator: [
    1, 6.242641248542475, 3.971343795334387, -28.66081804998, -20.14326346804852,
    48.560921310873994, 10.826866735546016, -22.643693341313973, 1.7211476576120028,
  ],
};

/** erfinv(x) / t - 0.8072 for t = sqrt(-ln(1 - x)) < 3, in t - 1.125. */
const ERFINV_TAIL: Ratio = {
  numerator: [
    -0.1311027816799519, -0.16379404719331705, 0.11703015634199525, 0.38707973897260434,
    0.3377855389120359, 0.14286953440815717, 0.029015791000532906, 0.0021455899538880526,
    -6.794655751811263e-7, 2.8522533178221704e-8, -6.81149956853777e-10,
  ],
  denominator: [
    1, 3.4662540724256723, 5.381683457070069, 4.778465929458438, 2.5930192162362027,
    0.848854343457902, 0.15226433829533179, 0.011059242293464892, 0, 0, 0,
  ],
};

/** erfinv(x) / t - 0.93996 for 3 <= t < 6, in t - 3. */
const ERFINV_FAR_TAIL: Ratio = {
  numerator: [
    -0.0350353787183178, -0.0022242652921344794, 0.018557330651423107, 0.009508047013259196,
    0.0018712349281955923, 0.00015754461742496055, 4.60469890584318e-6, -2.304047769118826e-10,
    2.6633922742578204e-12,
  ],
  denominator: [
    1, 1.3653349817554064, 0.7620591645536234, 0.22009110576413124, 0.03415891436709477,
    0.00263861676657016, 7.646752923027944e-5, 0, 0,
  ],
};

/** erfinv(x) / t - 0.98363 for 6 <= t, in t - 6. */
const ERFINV_FARTHEST_TAIL: Ratio = {
  numerator: [
    -0.016743100507663373, -0.0011295143874558028, 0.001056288621524929, 0.00020938631748758808,
    1.4962478375834237e-5, 4.4969678992770644e-7, 4.625961635228786e-9, -2.811287356288318e-14,
    9.905570997331033e-17,
  ],
  denominator: [
    1, 0.5914293448864175, 0.1381518657490833, 0.016074608709367652, 0.0009640118070051656,
    2.7533547476472603e-5, 2.82243172016108e-7, 0, 0,
  ],
};

/** erf(1), rounded to 24 bits, to which `ERF_SHOULDER` adds. */
const ERF_NEAR_ONE = 0.8450629115104675;

/** Complementary error function; off by less than one unit in the last place. */
function erfc(x: number): number {
  const size = Math.abs(x);
  if (size < 0.84375) return erfcNearZero(x);
  if (size < 1.25) {
    const rest = ratio(ERF_SHOULDER, size - 1);
    return x < 0 ? 1 + ERF_NEAR_ONE + rest : 1 - ERF_NEAR_ONE - rest;
  }
  if (x < -6) return 2;
  if (x >= 28) return 0;
  return x < 0 ? 2 - erfcOfTail(size) : erfcOfTail(size);
}

function erfcNearZero(x: number): number {
  const rest = x * ratio(ERFC_CENTER, x * x);
  return x < 0.25 ? 1 - (x + rest) : 0.5 - (rest + (x - 0.5));
}

/** erfc(x) for x from 1.25 to 28. */
function erfcOfTail(x: number): number {
  const rest = ratio(x < 2.857142857142857 ? ERFC_TAIL : ERFC_FAR_TAIL, 1 / (x * x));
  // The square of a number of few bits is exact, so exp(-x²) loses nothing.
  const short = withoutLowBits(x);
  return (Math.exp(-short * short - 0.5625) * Math.exp((short - x) * (short + x) + rest)) / x;
}

const float = new Float64Array(1);
const bits = new BigUint64Array(float.buffer);

/** The number with the lower 32 of its 52 bits of fraction cleared. */
function withoutLowBits(x: number): number {
  float[0] = x;
  bits[0] = ((bits[0] as bigint) >> 32n) << 32n;
  return float[0];
}

/** Inverse of the error function, for x strictly between -1 and 1. */
function erfinv(x: number): number {
  return x < 0 ? -erfinvOfPositive(-x) : erfinvOfPositive(x);
}

function erfinvOfPositive(x: number): number {
  if (x <= 0.5) {
    const scale = x * (x + 10);
    return scale * 0.08913147449493408 + scale * ratio(ERFINV_CENTER, x);
  }
  const rest = 1 - x;
  if (rest >= 0.25) {
    return (
      Math.sqrt(-2 * Math.log(rest)) / (2.249481201171875 + ratio(ERFINV_SHOULDER, rest - 0.25))
    );
  }
  const t = Math.sqrt(-Math.log(rest));
  if (t < 3) return 0.807220458984375 * t + ratio(ERFINV_TAIL, t - 1.125) * t;
  if (t < 6) return 0.9399557113647461 * t + ratio(ERFINV_FAR_TAIL, t - 3) * t;
  return 0.9836282730102539 * t + ratio(ERFINV_FARTHEST_TAIL, t - 6) * t;
}

/** Standard normal distribution function. */
export const normalCdf = (z: number): number => 0.5 * erfc(-z / Math.SQRT2);

/** Inverse of `normalCdf`; p must be strictly between 0 and 1. */
export const normalQuantile = (p: number): number => Math.SQRT2 * erfinv(2 * p - 1);
