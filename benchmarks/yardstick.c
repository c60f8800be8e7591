/* What one core can do: Gibbs sampling by chains in lock-step, in plain C.
 *
 * All chains of a pack update the same variable at the same time; `values[variable][lane]` is one
 * byte. The conditionals are those that orbitmc has prepared, so both do the same work: a draw
 * compares a 32-bit random number with a limit (a probability times 2^32), and a sample adds the
 * conditional probabilities of all variables to sums.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef LANES
#define LANES 64
#endif
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    uint32_t variables;
    const uint32_t *cardinality;
    const uint32_t *neighbour_start, *neighbour, *role;
    const float *coupling, *bias;
    const uint32_t *start, *limit, *row;
} Model;

typedef struct {
    uint8_t *values;
    double *sums;
    uint32_t lanes[4][LANES]; /* xoshiro128+, one generator per lane */
    uint64_t common[4];       /* xoshiro256++, for what all lanes share */
} Chains;

typedef void Step(const Model *, Chains *, uint32_t variable);

/* ---- random numbers ---- */

INLINE uint64_t rotated(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

INLINE uint64_t next_common(uint64_t *s)
{
    uint64_t result = rotated(s[0] + s[3], 23) + s[0], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotated(s[3], 45);
    return result;
}

INLINE uint32_t any_variable(const Model *model, Chains *chains)
{
    return (uint32_t)(((next_common(chains->common) >> 32) * model->variables) >> 32);
}

INLINE void draw_lanes(Chains *chains, uint32_t *restrict drawn)
{
    uint32_t *restrict s0 = chains->lanes[0], *restrict s1 = chains->lanes[1];
    uint32_t *restrict s2 = chains->lanes[2], *restrict s3 = chains->lanes[3];
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t a = s0[lane], b = s1[lane], c = s2[lane] ^ a, d = s3[lane] ^ b;
        drawn[lane] = a + s3[lane];
        s1[lane] = b ^ c;
        s0[lane] = a ^ d;
        s2[lane] = c ^ (b << 9);
        s3[lane] = (d << 11) | (d >> 21);
    }
}

/* The floor under every draw: random numbers that nobody uses. */
uint32_t only_random_numbers(Chains *chains, long updates)
{
    uint32_t drawn[LANES], all = 0;
    for (long update = 0; update < updates; update++) {
        draw_lanes(chains, drawn);
        all ^= drawn[0];
    }
    return all;
}

/* ---- what a conditional depends on ---- */

INLINE const uint8_t *row_of(const Chains *chains, uint32_t variable)
{
    return chains->values + (size_t)variable * LANES;
}

INLINE void count_agreeing(const Model *model, const Chains *chains, uint32_t variable,
                           uint8_t *restrict count)
{
    memset(count, 0, LANES);
    for (uint32_t e = model->neighbour_start[variable]; e < model->neighbour_start[variable + 1]; e++) {
        const uint8_t *other = row_of(chains, model->neighbour[e]), negative = model->role[e];
        for (int lane = 0; lane < LANES; lane++) count[lane] += other[lane] ^ negative;
    }
}

INLINE void find_places(const Model *model, const Chains *chains, uint32_t variable,
                        uint32_t *restrict place)
{
    for (int lane = 0; lane < LANES; lane++) place[lane] = model->start[variable];
    for (uint32_t e = model->neighbour_start[variable]; e < model->neighbour_start[variable + 1]; e++) {
        const uint8_t *other = row_of(chains, model->neighbour[e]);
        uint32_t stride = model->role[e];
        for (int lane = 0; lane < LANES; lane++) place[lane] += stride * other[lane];
    }
}

INLINE void sum_field(const Model *model, const Chains *chains, uint32_t variable,
                      float *restrict field)
{
    for (int lane = 0; lane < LANES; lane++) field[lane] = model->bias[variable];
    for (uint32_t e = model->neighbour_start[variable]; e < model->neighbour_start[variable + 1]; e++) {
        const uint8_t *other = row_of(chains, model->neighbour[e]);
        float coupling = model->coupling[e];
        for (int lane = 0; lane < LANES; lane++) field[lane] += coupling * (float)other[lane];
    }
}

/* 1 / (1 + exp(-field)) by a polynomial for 2^x on [-1/2, 1/2] */
INLINE float logistic(float field)
{
    float x = fminf(fmaxf(-1.44269504f * field, -120.f), 120.f), whole = floorf(x + .5f), r = x - whole;
    float power = 1 + r * (.69314718f + r * (.24022651f + r * (.05550411f
                    + r * (.00961813f + r * (.00133336f + r * .00015468f)))));
    union { int32_t bits; float number; } scale = { ((int32_t)whole + 127) << 23 };
    return 1.f / (1.f + power * scale.number);
}

/* ---- one update, and one addition to the sums, per kind of conditional ---- */

/* Limits grow with the count, so "drawn < limit[count]" is "no more than `count` limits are at
 * or below drawn": comparisons instead of a look-up, which plain C cannot do in registers. */
INLINE void flip_by_limits(Chains *chains, uint32_t variable, const uint8_t *count,
                           const uint32_t *limit, int limits)
{
    uint8_t *own = chains->values + (size_t)variable * LANES;
    uint32_t drawn[LANES];
    draw_lanes(chains, drawn);
    for (int lane = 0; lane < LANES; lane++) {
        uint8_t below = 0;
        for (int k = 0; k < limits; k++) below += drawn[lane] >= limit[k];
        own[lane] = below <= count[lane];
    }
}

INLINE void draw_count(const Model *model, Chains *chains, uint32_t variable)
{
    uint8_t count[LANES];
    uint32_t limit[8];
    count_agreeing(model, chains, variable, count);
    memcpy(limit, model->limit + model->start[variable], sizeof limit);
    if (model->neighbour_start[variable + 1] - model->neighbour_start[variable] <= 4)
        flip_by_limits(chains, variable, count, limit, 5);
    else
        flip_by_limits(chains, variable, count, limit, 8);
}

INLINE void add_count(const Model *model, Chains *chains, uint32_t variable)
{
    uint8_t count[LANES];
    uint64_t total = 0;
    count_agreeing(model, chains, variable, count);
    for (int lane = 0; lane < LANES; lane++) total += model->limit[model->start[variable] + count[lane]];
    chains->sums[model->row[variable]] += (double)total * 0x1p-32;
}

INLINE void draw_table(const Model *model, Chains *chains, uint32_t variable)
{
    uint32_t place[LANES], drawn[LANES];
    uint8_t value[LANES];
    find_places(model, chains, variable, place);
    draw_lanes(chains, drawn);
    memset(value, 0, LANES);
    for (uint32_t k = 0; k + 1 < model->cardinality[variable]; k++)
        for (int lane = 0; lane < LANES; lane++) value[lane] += drawn[lane] >= model->limit[place[lane] + k];
    memcpy(chains->values + (size_t)variable * LANES, value, LANES);
}

INLINE void add_table(const Model *model, Chains *chains, uint32_t variable)
{
    uint32_t place[LANES];
    find_places(model, chains, variable, place);
    for (uint32_t k = 0; k + 1 < model->cardinality[variable]; k++) {
        uint64_t total = 0;
        for (int lane = 0; lane < LANES; lane++) total += model->limit[place[lane] + k];
        chains->sums[model->row[variable] + k] += (double)total * 0x1p-32;
    }
}

INLINE void draw_bits(const Model *model, Chains *chains, uint32_t variable)
{
    uint32_t place[LANES], drawn[LANES];
    uint8_t *own = chains->values + (size_t)variable * LANES;
    find_places(model, chains, variable, place);
    draw_lanes(chains, drawn);
    for (int lane = 0; lane < LANES; lane++) own[lane] = drawn[lane] < model->limit[place[lane]];
}

INLINE void draw_field(const Model *model, Chains *chains, uint32_t variable)
{
    float field[LANES];
    uint32_t drawn[LANES];
    uint8_t *own = chains->values + (size_t)variable * LANES;
    sum_field(model, chains, variable, field);
    draw_lanes(chains, drawn);
    for (int lane = 0; lane < LANES; lane++)
        own[lane] = (float)(int32_t)(drawn[lane] >> 8) * 0x1p-24f < logistic(field[lane]);
}

INLINE void add_field(const Model *model, Chains *chains, uint32_t variable)
{
    float field[LANES], total = 0;
    sum_field(model, chains, variable, field);
    for (int lane = 0; lane < LANES; lane++) total += logistic(field[lane]);
    chains->sums[model->row[variable]] += total;
}

/* ---- loops ---- */

INLINE void sample(const Model *model, Chains *chains, long samples, long sweeps, int systematic,
                   Step *draw, Step *add)
{
    for (long taken = 0; taken < samples; taken++) {
        for (long sweep = 0; sweep < sweeps; sweep++)
            for (uint32_t turn = 0; turn < model->variables; turn++)
                draw(model, chains, systematic ? turn : any_variable(model, chains));
        for (uint32_t variable = 0; variable < model->variables; variable++)
            add(model, chains, variable);
    }
}

#define LOOP(name, draw, add)                                                                      \
    void name(const Model *model, Chains *chains, long samples, long sweeps, int systematic)       \
    {                                                                                              \
        sample(model, chains, samples, sweeps, systematic, draw, add);                             \
    }

LOOP(sample_count, draw_count, add_count)
LOOP(sample_bits, draw_bits, add_table)
LOOP(sample_table, draw_table, add_table)
LOOP(sample_field, draw_field, add_field)

/* ---- the same for counts, by hand for AVX2: limits are looked up in a register ---- */

#ifdef __AVX2__
#include <immintrin.h>

#define AHEAD 8 /* how many variables in advance memory is asked for */

INLINE __m256i draw_eight(__m256i *s)
{
    __m256i result = _mm256_add_epi32(s[0], s[3]), shifted = _mm256_slli_epi32(s[1], 9);
    s[2] = _mm256_xor_si256(s[2], s[0]);
    s[3] = _mm256_xor_si256(s[3], s[1]);
    s[1] = _mm256_xor_si256(s[1], s[2]);
    s[0] = _mm256_xor_si256(s[0], s[3]);
    s[2] = _mm256_xor_si256(s[2], shifted);
    s[3] = _mm256_or_si256(_mm256_slli_epi32(s[3], 11), _mm256_srli_epi32(s[3], 21));
    return result;
}

INLINE __m256i count_32(const Model *model, const Chains *chains, uint32_t variable, int first)
{
    __m256i count = _mm256_setzero_si256();
    for (uint32_t e = model->neighbour_start[variable]; e < model->neighbour_start[variable + 1]; e++) {
        const void *other = row_of(chains, model->neighbour[e]) + first;
        __m256i negative = _mm256_set1_epi8((char)model->role[e]);
        count = _mm256_add_epi8(count, _mm256_xor_si256(_mm256_loadu_si256(other), negative));
    }
    return count;
}

/* which of eight lanes draw a number below their limit; signs are flipped to compare unsigned */
INLINE __m256i below_limit(__m256i *streams, __m256i limits, __m128i eight_counts)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000u);
    __m256i limit = _mm256_permutevar8x32_epi32(limits, _mm256_cvtepu8_epi32(eight_counts));
    return _mm256_cmpgt_epi32(limit, _mm256_xor_si256(draw_eight(streams), sign));
}

INLINE void draw_count_avx2(const Model *model, Chains *chains, __m256i *streams, uint32_t variable)
{
    const __m256i sign = _mm256_set1_epi32((int)0x80000000u);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const void *eight = model->limit + model->start[variable];
    __m256i limits = _mm256_xor_si256(_mm256_loadu_si256(eight), sign);
    for (int first = 0; first < LANES; first += 32) {
        __m256i count = count_32(model, chains, variable, first);
        __m128i low = _mm256_castsi256_si128(count), high = _mm256_extracti128_si256(count, 1);
        __m256i a = below_limit(streams, limits, low);
        __m256i b = below_limit(streams, limits, _mm_srli_si128(low, 8));
        __m256i c = below_limit(streams, limits, high);
        __m256i d = below_limit(streams, limits, _mm_srli_si128(high, 8));
        __m256i mixed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        __m256i bits = _mm256_and_si256(_mm256_permutevar8x32_epi32(mixed, order), _mm256_set1_epi8(1));
        _mm256_storeu_si256((void *)(row_of(chains, variable) + first), bits);
    }
}

INLINE void add_count_avx2(const Model *model, Chains *chains, uint32_t variable)
{
    const void *eight = model->limit + model->start[variable];
    __m256i limits = _mm256_loadu_si256(eight), total = _mm256_setzero_si256();
    for (int first = 0; first < LANES; first += 32) {
        uint8_t count[32];
        _mm256_storeu_si256((void *)count, count_32(model, chains, variable, first));
        for (int part = 0; part < 32; part += 8) {
            __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(count + part)));
            __m256i found = _mm256_permutevar8x32_epi32(limits, places);
            total = _mm256_add_epi64(total, _mm256_and_si256(found, _mm256_set1_epi64x(0xffffffff)));
            total = _mm256_add_epi64(total, _mm256_srli_epi64(found, 32));
        }
    }
    uint64_t parts[4];
    _mm256_storeu_si256((void *)parts, total);
    chains->sums[model->row[variable]] += (double)(parts[0] + parts[1] + parts[2] + parts[3]) * 0x1p-32;
}

INLINE void ask_for(const Model *model, const Chains *chains, uint32_t variable)
{
    __builtin_prefetch(model->limit + model->start[variable]);
    for (uint32_t e = model->neighbour_start[variable]; e < model->neighbour_start[variable + 1]; e++)
        for (int first = 0; first < LANES; first += 64)
            __builtin_prefetch(row_of(chains, model->neighbour[e]) + first);
}

void sample_count_avx2(const Model *model, Chains *chains, long samples, long sweeps, int systematic)
{
    __m256i streams[4];
    uint32_t coming[AHEAD];
    long steps = sweeps * model->variables;
    for (int word = 0; word < 4; word++) streams[word] = _mm256_loadu_si256((void *)chains->lanes[word]);
    for (long taken = 0; taken < samples; taken++) {
        for (int k = 0; k < AHEAD; k++)
            coming[k] = systematic ? (uint32_t)k % model->variables : any_variable(model, chains);
        for (long step = 0; step < steps; step++) {
            uint32_t variable = coming[step % AHEAD], later = variable + AHEAD;
            if (systematic) later = later < model->variables ? later : later % model->variables;
            coming[step % AHEAD] = systematic ? later : any_variable(model, chains);
            if (!systematic) ask_for(model, chains, coming[step % AHEAD]);
            draw_count_avx2(model, chains, streams, variable);
        }
        for (uint32_t variable = 0; variable < model->variables; variable++)
            add_count_avx2(model, chains, variable);
    }
    for (int word = 0; word < 4; word++) _mm256_storeu_si256((void *)chains->lanes[word], streams[word]);
}
#endif
