/* Goal: datasets and attributes of every type that parallel HDF5 writes. */
#include "check.h"

enum { k_n = 4096 };

typedef struct {
    int id;
    double at[3];
    char tag[8];
} Particle;

static hid_t particle_type(void) {
    hsize_t three[1] = {3};
    hid_t at = OK(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, three));
    hid_t tag = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(tag, 8));
    hid_t type = OK(H5Tcreate(H5T_COMPOUND, sizeof(Particle)));
    OK(H5Tinsert(type, "id", HOFFSET(Particle, id), H5T_NATIVE_INT));
    OK(H5Tinsert(type, "at", HOFFSET(Particle, at), at));
    OK(H5Tinsert(type, "tag", HOFFSET(Particle, tag), tag));
    OK(H5Tclose(at));
    OK(H5Tclose(tag));
    return type;
}

/* Floating point data may differ by the bound, everything else by nothing. */
static bool same_values(hid_t type, const void* read, const void* written) {
    if (H5Tequal(type, H5T_IEEE_F64LE) > 0) {
        for (int i = 0; i < k_n; ++i)
            if (!near(((const double*)read)[i], ((const double*)written)[i])) return false;
        return true;
    }
    if (H5Tequal(type, H5T_IEEE_F32LE) > 0) {
        for (int i = 0; i < k_n; ++i)
            if (!near(((const float*)read)[i], ((const float*)written)[i])) return false;
        return true;
    }
    return memcmp(read, written, k_n * H5Tget_size(type)) == 0;
}

/* Writes this rank's share of k_n elements of a type, and reads all of them back. */
static void round_trip(hid_t file, const char* name, hid_t type, const void* all) {
    const size_t size = H5Tget_size(type);
    hsize_t dims[1] = {k_n}, begin, count;
    share(k_n, &begin, &count);
    hid_t dataset = make_dataset(file, name, type, 1, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    hid_t memory = OK(H5Screate_simple(1, &count, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, type, memory, space, list, (const char*)all + begin * size));
    OK(H5Dclose(dataset));
    dataset = OK(H5Dopen2(file, name, H5P_DEFAULT));
    hid_t stored = OK(H5Dget_type(dataset));
    CHECK(OK(H5Tequal(stored, type)) > 0);
    OK(H5Tclose(stored));
    char* read = malloc(k_n * size);
    OK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, read));
    CHECK(same_values(type, read, all));
    free(read);
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static void integers(hid_t file) {
    const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8LE,  H5T_STD_I16BE,
                           H5T_STD_U16LE, H5T_STD_I32LE, H5T_STD_U32BE,
                           H5T_STD_I64LE, H5T_STD_U64BE, H5T_STD_B16LE};
    const char* names[] = {"i8", "u8", "i16be", "u16", "i32", "u32be", "i64", "u64be", "bits"};
    static unsigned char bytes[k_n * 8];
    for (int i = 0; i < k_n * 8; ++i) bytes[i] = (unsigned char)(i * 37 + i / 251);
    for (int i = 0; i < 9; ++i) round_trip(file, names[i], types[i], bytes);
}

static void floats(hid_t file) {
    static double wide[k_n];
    static float narrow[k_n];
    for (int i = 0; i < k_n; ++i) {
        wide[i] = field((uint64_t)i, 128);
        narrow[i] = (float)wide[i];
    }
    round_trip(file, "f64", H5T_IEEE_F64LE, wide);
    round_trip(file, "f32", H5T_IEEE_F32LE, narrow);
    hid_t half = OK(H5Tcopy(H5T_IEEE_F32LE)); /* as h5py makes a float16 */
    OK(H5Tset_fields(half, 15, 10, 5, 0, 10));
    OK(H5Tset_size(half, 2));
    OK(H5Tset_ebias(half, 15));
    static uint16_t halves[k_n];
    for (int i = 0; i < k_n; ++i) halves[i] = (uint16_t)(0x3c00 + i % 512);
    round_trip(file, "f16", half, halves);
    OK(H5Tclose(half));
    /* Big endian: the same numbers in other bytes. */
    hsize_t dims[1] = {k_n}, begin, count;
    share(k_n, &begin, &count);
    hid_t dataset = make_dataset(file, "f64be", H5T_IEEE_F64BE, 1, dims, H5P_DEFAULT);
    hid_t space = OK(H5Dget_space(dataset));
    hid_t memory = OK(H5Screate_simple(1, &count, NULL));
    OK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &count, NULL));
    hid_t list = transfer(H5FD_MPIO_COLLECTIVE);
    OK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, list, wide + begin));
    static double read[k_n];
    OK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, read));
    for (int i = 0; i < k_n; ++i) CHECK(near(read[i], wide[i]));
    OK(H5Pclose(list));
    OK(H5Sclose(memory));
    OK(H5Sclose(space));
    OK(H5Dclose(dataset));
}

static void composed(hid_t file) {
    static Particle particles[k_n];
    memset(particles, 0, sizeof particles);
    for (int i = 0; i < k_n; ++i) {
        particles[i].id = i;
        for (int k = 0; k < 3; ++k) particles[i].at[k] = i + 0.25 * k;
        memcpy(particles[i].tag, i % 2 ? "odd" : "even", i % 2 ? 4 : 5);
    }
    hid_t type = particle_type();
    round_trip(file, "compound", type, particles);
    OK(H5Tclose(type));

    static int colours[k_n];
    hid_t colour = OK(H5Tenum_create(H5T_NATIVE_INT));
    const char* names[] = {"red", "green", "blue"};
    for (int i = 0; i < 3; ++i) OK(H5Tenum_insert(colour, names[i], &i));
    for (int i = 0; i < k_n; ++i) colours[i] = i % 3;
    round_trip(file, "enum", colour, colours);
    OK(H5Tclose(colour));

    static char text[k_n][12];
    memset(text, 0, sizeof text);
    for (int i = 0; i < k_n; ++i) text[i][0] = (char)('a' + i % 26);
    hid_t string = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(string, 12));
    OK(H5Tset_cset(string, H5T_CSET_UTF8));
    round_trip(file, "string", string, text);
    OK(H5Tclose(string));

    hid_t opaque = OK(H5Tcreate(H5T_OPAQUE, 12));
    OK(H5Tset_tag(opaque, "twelve bytes"));
    round_trip(file, "opaque", opaque, text);
    OK(H5Tclose(opaque));
    hsize_t shape[2] = {2, 3};
    hid_t array = OK(H5Tarray_create2(H5T_STD_I16LE, 2, shape));
    round_trip(file, "array", array, text);
    OK(H5Tclose(array));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    hid_t file = create_file("types");
    integers(file);
    floats(file);
    composed(file);
    OK(H5Fclose(file));
    return finish();
}
