/* Goal: whichever way a file cannot be opened or created, the error stack says why as it does
 * natively: class, major, minor and the system's reason of the innermost record are asserted, and
 * all that the file's own code has pushed, with the outermost record, goes to stacks.h5, which has
 * to be the native one.
 *
 * Each state of a path is met by each call in four ways: rank 0 alone with the plain driver and
 * with MPI-IO on MPI_COMM_SELF, all ranks with MPI-IO, and all ranks at once with the plain driver,
 * each for itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { k_name = 256, k_path = 1200, k_text = 1024, k_values = 5000, k_nobody = 65534 };

/* Of a path. From k_unreadable on an ordinary user is kept from something. */
enum {
    k_missing,
    k_no_parent,
    k_directory,
    k_no_hdf5,
    k_truncated,
    k_good,
    k_locked,
    k_unreadable,
    k_read_only,
    k_closed_directory,
    k_states
};
static const char* const k_state_names[k_states] = {
    "missing", "no_parent", "directory",  "no_hdf5",   "truncated",
    "good",    "locked",    "unreadable", "read_only", "closed_directory"};
enum { k_open_to_read, k_open_to_write, k_replace, k_create, k_calls };
static const char* const k_call_names[k_calls] = {"open_to_read", "open_to_write", "replace",
                                                  "create"};
enum { k_alone, k_alone_mpio, k_together, k_at_once, k_ways };
static const char* const k_way_names[k_ways] = {"alone", "alone_mpio", "together", "at_once"};

/* What the innermost record is about. */
enum { k_works, k_opening, k_reading, k_signature, k_length, k_lock };
typedef struct {
    int what, error; /* errno, or 0: the system has no part in it */
} Outcome;
#define NO(error) \
    { k_opening, error }
#define WORKS \
    { k_works, 0 }
static const Outcome k_outcomes[k_states][k_calls] = {
    {NO(ENOENT), NO(ENOENT), WORKS, WORKS},
    {NO(ENOENT), NO(ENOENT), NO(ENOENT), NO(ENOENT)},
    {{k_reading, EISDIR}, NO(EISDIR), NO(EISDIR), NO(EEXIST)},
    {{k_signature, 0}, {k_signature, 0}, WORKS, NO(EEXIST)},
    {{k_length, 0}, {k_length, 0}, WORKS, NO(EEXIST)},
    {WORKS, WORKS, WORKS, NO(EEXIST)},
    {{k_lock, EAGAIN}, {k_lock, EAGAIN}, {k_lock, EAGAIN}, NO(EEXIST)},
    {NO(EACCES), NO(EACCES), NO(EACCES), NO(EEXIST)},
    {WORKS, NO(EACCES), NO(EACCES), NO(EEXIST)},
    {NO(ENOENT), NO(ENOENT), NO(EACCES), NO(EACCES)}};

typedef struct {
    int state, call, way;
    char place[k_path], path[k_path + k_name]; /* the file's directory, the file */
    int lock;                                  /* of another program; -1: none */
} Case;

typedef struct {
    hid_t class, major, minor; /* of the innermost record */
    char reason[k_name];       /* the system's, in that record */
    char text[k_text];         /* a line for each record of the file's own code, and the last */
    char last[k_name];
    bool below_vol;
} Stack;

static char g_open_place[k_path]; /* every user may enter it */
static char* g_good;              /* the bytes of a file in order */
static size_t g_good_bytes;
static int g_wrong;

static bool by_mpio(int way) { return way == k_alone_mpio || way == k_together; }
static bool by_all(int way) { return way == k_together || way == k_at_once; }

/* errno and its text, or MPI's; "" if the record has neither. Addresses and paths are left out. */
static void reason_of(const char* text, char* reason) {
    const char* begin = strstr(text, "errno = ");
    if (begin == NULL) begin = strstr(text, "MPI error string is '");
    const char* end = begin == NULL ? NULL : strchr(begin, '\'');
    end = end == NULL ? NULL : strchr(end + 1, '\'');
    snprintf(reason, k_name, "%.*s", end == NULL ? 0 : (int)(end - begin), begin ? begin : "");
}

static herr_t add_record(unsigned n, const H5E_error2_t* record, void* data) {
    Stack* stack = data;
    char class[k_name] = "", major[k_name] = "", minor[k_name] = "", reason[k_name];
    reason_of(record->desc, reason);
    if (n == 0) {
        stack->class = record->cls_id;
        stack->major = record->maj_num;
        stack->minor = record->min_num;
        memcpy(stack->reason, reason, k_name);
    }
    (void)H5Eget_class_name(record->cls_id, class, sizeof class);
    (void)H5Eget_msg(record->maj_num, NULL, major, sizeof major);
    (void)H5Eget_msg(record->min_num, NULL, minor, sizeof minor);
    char line[5 * k_name];
    snprintf(line, sizeof line, "%s: %s: %s: %s %s\n", record->func_name, class, major, minor,
             reason);
    /* Above the file's own code a connector has records between those of HDF5. */
    if (strncmp(record->func_name, "H5VL", 4) == 0) stack->below_vol = false;
    const size_t used = strlen(stack->text);
    if (stack->below_vol) snprintf(stack->text + used, k_text - used, "%s", line);
    memcpy(stack->last, line, k_name - 1);
    return 0;
}

/* Of the call that has just failed. */
static void take_stack(Stack* stack) {
    forget_told();
    stack->below_vol = true;
    hid_t current = OK(H5Eget_current_stack());
    OK(H5Ewalk2(current, H5E_WALK_UPWARD, add_record, stack));
    OK(H5Eclose_stack(current));
    const size_t used = strlen(stack->text);
    snprintf(stack->text + used, k_text - used, "%s", stack->last);
}

static Outcome expected_of(const Case* it) {
    Outcome outcome = k_outcomes[it->state][it->call];
    if (by_mpio(it->way) && outcome.what == k_reading) outcome = (Outcome){k_signature, 0};
    return outcome;
}

static bool is_as_expected(const Case* it, const Stack* stack) {
    const Outcome expected = expected_of(it);
    const bool mpi = by_mpio(it->way) && expected.what == k_opening;
    const hid_t majors[] = {-1, H5E_FILE, H5E_IO, H5E_FILE, H5E_FILE, H5E_VFL};
    const hid_t minors[] = {-1,          H5E_CANTOPENFILE, H5E_READERROR,
                            H5E_NOTHDF5, H5E_TRUNCATED,    H5E_CANTLOCKFILE};
    if (stack->class != H5E_ERR_CLS) return false;
    if (stack->major != (mpi ? H5E_INTERNAL : majors[expected.what])) return false;
    if (stack->minor != (mpi ? H5E_MPI : minors[expected.what])) return false;
    char reason[k_name] = "";
    if (mpi) /* its words are the MPI library's */
        return strncmp(stack->reason, "MPI error string is '", 21) == 0 &&
               strlen(stack->reason) > 21;
    if (expected.error != 0)
        snprintf(reason, sizeof reason, "errno = %d, error message = '%s", expected.error,
                 strerror(expected.error));
    return strcmp(stack->reason, reason) == 0;
}

static void check_case(const Case* it, bool works, const Stack* stack) {
    const bool wanted = expected_of(it).what == k_works;
    if (works == wanted && (works || is_as_expected(it, stack))) return;
    fprintf(stderr, "%s, %s, %s by rank %d: %s\n%s", k_state_names[it->state],
            k_call_names[it->call], k_way_names[it->way], g_rank, works ? "works" : "fails",
            stack->text);
    ++g_wrong;
}

static void write_bytes(const char* path, const char* bytes, size_t count) {
    FILE* file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count);
    CHECK(fclose(file) == 0);
}

static void make_good(void) {
    static int values[k_values];
    const char* path = path_of("good");
    hsize_t dims[1] = {k_values};
    hid_t file = OK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t dataset = make_dataset(file, "values", H5T_STD_I32LE, 1, dims, H5P_DEFAULT);
    OK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    OK(H5Dclose(dataset));
    OK(H5Fclose(file));
    struct stat status;
    CHECK(stat(path, &status) == 0);
    g_good_bytes = (size_t)status.st_size;
    g_good = malloc(g_good_bytes);
    FILE* bytes = fopen(path, "rb");
    CHECK(bytes != NULL && fread(g_good, 1, g_good_bytes, bytes) == g_good_bytes);
    fclose(bytes);
}

static void make_open_place(void) {
    if (g_rank == 0) {
        const char* root = getenv("TMPDIR");
        snprintf(g_open_place, sizeof g_open_place, "%s/caesura_XXXXXX", root ? root : P_tmpdir);
        CHECK(mkdtemp(g_open_place) != NULL);
        CHECK(chmod(g_open_place, 0777) == 0);
    }
    MPI_Bcast(g_open_place, sizeof g_open_place, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void name_paths(Case* it) {
    char directory[k_path];
    snprintf(directory, sizeof directory, "%s", path_of("x"));
    *strrchr(directory, '/') = '\0';
    const char* root = it->state >= k_unreadable ? g_open_place : directory;
    char name[k_name];
    /* Every .h5 is compared with the native one. */
    snprintf(name, sizeof name, "%s_%s_%s.%s", k_state_names[it->state], k_call_names[it->call],
             k_way_names[it->way], expected_of(it).what == k_works ? "h5" : "none");
    const bool inside = it->state == k_no_parent || it->state == k_closed_directory;
    snprintf(it->place, sizeof it->place, "%.800s%s%s", root, inside ? "/in_" : "",
             inside ? name : "");
    snprintf(it->path, sizeof it->path, "%s/%s", it->place, name);
}

/* By rank 0. */
static void prepare(Case* it) {
    static const char k_words[] = "this is no HDF5 file";
    switch (it->state) {
        case k_missing:
        case k_no_parent:
            return;
        case k_directory:
            CHECK(mkdir(it->path, 0777) == 0);
            return;
        case k_closed_directory:
            CHECK(mkdir(it->place, 0555) == 0);
            return;
        case k_no_hdf5:
            write_bytes(it->path, k_words, sizeof k_words);
            return;
        default:
            write_bytes(it->path, g_good, g_good_bytes / (it->state == k_truncated ? 2 : 1));
    }
    if (it->state == k_unreadable) CHECK(chmod(it->path, 0) == 0);
    if (it->state == k_read_only) CHECK(chmod(it->path, 0444) == 0);
    if (it->state != k_locked) return;
    it->lock = open(it->path, O_RDONLY);
    CHECK(it->lock >= 0 && flock(it->lock, LOCK_EX) == 0);
}

/* Root may do everything: for the time of a call the process is another user. */
static hid_t call(const Case* it, hid_t access) {
    const bool lowered = it->state >= k_unreadable && geteuid() == 0;
    if (lowered) CHECK(seteuid(k_nobody) == 0);
    hid_t file = -1;
    if (it->call == k_open_to_read)
        file = H5Fopen(it->path, H5F_ACC_RDONLY, access);
    else if (it->call == k_open_to_write)
        file = H5Fopen(it->path, H5F_ACC_RDWR, access);
    else
        file = H5Fcreate(it->path, it->call == k_replace ? H5F_ACC_TRUNC : H5F_ACC_EXCL,
                         H5P_DEFAULT, access);
    if (lowered) CHECK(seteuid(0) == 0);
    return file;
}

/* The text of its stack; "" if it works, or is not for this rank. */
static void run_case(Case* it, char* text) {
    Stack stack = {0};
    name_paths(it);
    if (g_rank == 0) prepare(it);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0 || by_all(it->way)) {
        hid_t access = H5P_DEFAULT;
        if (by_mpio(it->way))
            access = mpi_access(it->way == k_together ? MPI_COMM_WORLD : MPI_COMM_SELF);
        hid_t file = call(it, access);
        if (file < 0) take_stack(&stack);
        check_case(it, file >= 0, &stack);
        if (file >= 0) OK(H5Fclose(file));
        if (access != H5P_DEFAULT) OK(H5Pclose(access));
    }
    memcpy(text, stack.text, k_text);
    MPI_Barrier(MPI_COMM_WORLD);
    if (it->lock >= 0) {
        struct stat status;
        CHECK(fstat(it->lock, &status) == 0);
        /* Natively it has been emptied before the lock was seen. */
        CHECK(!captured() || (size_t)status.st_size == g_good_bytes);
        close(it->lock);
    }
    if (g_rank == 0 && it->state >= k_unreadable) { /* the file, or the directory it is not in */
        if (it->state == k_closed_directory)
            CHECK(rmdir(it->place) == 0);
        else
            CHECK(unlink(it->path) == 0);
    }
}

/* MPI-IO takes no locks. Of ranks that lock the same file at once with the plain driver one is the
 * first, and nobody knows which. */
static bool is_of_use(const Case* it) {
    const int what = expected_of(it).what;
    if (it->state == k_locked && by_mpio(it->way)) return false;
    return it->way != k_at_once || it->call == k_open_to_read || what == k_opening ||
           what == k_lock;
}

static void write_stacks(const char* stacks, hsize_t cases) {
    const hsize_t dims[2] = {cases, (hsize_t)g_ranks};
    hid_t file = OK(H5Fcreate(path_of("stacks"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t string = OK(H5Tcopy(H5T_C_S1));
    OK(H5Tset_size(string, k_text));
    hid_t dataset = make_dataset(file, "stacks", string, 2, dims, H5P_DEFAULT);
    OK(H5Dwrite(dataset, string, H5S_ALL, H5S_ALL, H5P_DEFAULT, stacks));
    OK(H5Dclose(dataset));
    OK(H5Tclose(string));
    OK(H5Fclose(file));
}

int main(int argc, char** argv) {
    start(&argc, &argv);
    if (g_rank == 0) make_good();
    make_open_place();
    char* stacks = calloc((size_t)(k_states * k_calls * k_ways * g_ranks), k_text);
    size_t cases = 0;
    for (int i = 0; i < k_states * k_calls * k_ways; ++i) {
        Case it = {i / (k_calls * k_ways), i / k_ways % k_calls, i % k_ways, "", "", -1};
        if (!is_of_use(&it)) continue;
        char text[k_text];
        run_case(&it, text);
        MPI_Gather(text, k_text, MPI_CHAR, stacks + cases++ * (size_t)g_ranks * k_text, k_text,
                   MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    if (g_rank == 0) {
        write_stacks(stacks, cases);
        CHECK(rmdir(g_open_place) == 0);
        free(g_good);
    }
    free(stacks);
    CHECK(g_wrong == 0);
    return finish();
}
