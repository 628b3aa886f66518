#include "types.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace stand_in {
namespace {

struct Named {
    hid_t id;
    const char* code;
};

const std::vector<Named>& numbers() {
    static const std::vector<Named> all = {
        {H5T_NATIVE_FLOAT, "H5T_NATIVE_FLOAT"},   {H5T_NATIVE_DOUBLE, "H5T_NATIVE_DOUBLE"},
        {H5T_NATIVE_FLOAT, "H5T_NATIVE_FLOAT"},   {H5T_NATIVE_DOUBLE, "H5T_NATIVE_DOUBLE"},
        {H5T_NATIVE_INT, "H5T_NATIVE_INT"},       {H5T_NATIVE_UINT8, "H5T_NATIVE_UINT8"},
        {H5T_NATIVE_INT16, "H5T_NATIVE_INT16"},   {H5T_NATIVE_INT64, "H5T_NATIVE_INT64"},
        {H5T_NATIVE_UINT64, "H5T_NATIVE_UINT64"}, {H5T_IEEE_F64BE, "H5T_IEEE_F64BE"},
        {H5T_IEEE_F32BE, "H5T_IEEE_F32BE"},       {H5T_STD_I32BE, "H5T_STD_I32BE"},
        {H5T_STD_U16BE, "H5T_STD_U16BE"},         {H5T_IEEE_F16LE, "H5T_IEEE_F16LE"},
    };
    return all;
}

Type bits(Step& step) {
    const Named one = step.draw.any_of<Named>({{H5T_STD_B8LE, "H5T_STD_B8LE"},
                                               {H5T_STD_B16BE, "H5T_STD_B16BE"},
                                               {H5T_STD_B32LE, "H5T_STD_B32LE"}});
    return {one.id, one.code};
}

std::string name_of(Step& step, hid_t id) {
    return fmt::format("t{}_{}", step.seed() % 97, id % 9973);
}

Type opaque(Step& step) {
    const std::size_t bytes = 1 + step.draw.below(9);
    const hid_t id = step.own(H5Tcreate(H5T_OPAQUE, bytes));
    H5Tset_tag(id, "tag");
    const std::string name = name_of(step, id);
    step.code("hid_t {0} = H5Tcreate(H5T_OPAQUE, {1}); H5Tset_tag({0}, \"tag\");", name, bytes);
    return {id, name};
}

Type text(Step& step, bool may_vary) {
    const hid_t id = step.own(H5Tcopy(H5T_C_S1));
    const bool variable = may_vary && step.draw.chance(40);
    const std::size_t bytes = variable ? H5T_VARIABLE : 1 + step.draw.below(12);
    H5Tset_size(id, bytes);
    const auto padding = step.draw.any_of({H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD});
    const auto set = step.draw.any_of({H5T_CSET_ASCII, H5T_CSET_UTF8});
    H5Tset_strpad(id, variable ? H5T_STR_NULLTERM : padding);
    H5Tset_cset(id, set);
    const std::string name = name_of(step, id);
    step.code(
        "hid_t {0} = H5Tcopy(H5T_C_S1); H5Tset_size({0}, {1}); H5Tset_strpad({0}, {2}); "
        "H5Tset_cset({0}, {3});",
        name, variable ? "H5T_VARIABLE" : fmt::format("{}", bytes),
        static_cast<int>(variable ? H5T_STR_NULLTERM : padding), static_cast<int>(set));
    return {id, name};
}

Type enumeration(Step& step) {
    const bool boolean = step.draw.chance(50);
    const hid_t id = step.own(H5Tenum_create(boolean ? H5T_NATIVE_INT8 : H5T_NATIVE_INT));
    const std::string name = name_of(step, id);
    std::string code = fmt::format("hid_t {} = H5Tenum_create({}); ", name,
                                   boolean ? "H5T_NATIVE_INT8" : "H5T_NATIVE_INT");
    const std::vector<const char*> members = boolean
                                                 ? std::vector<const char*>{"FALSE", "TRUE"}
                                                 : std::vector<const char*>{"red", "green", "blue"};
    for (std::size_t i = 0; i < members.size(); ++i) {
        const int wide = static_cast<int>(i);
        const auto narrow = static_cast<signed char>(i);
        H5Tenum_insert(id, members[i], boolean ? static_cast<const void*>(&narrow) : &wide);
        code += fmt::format("H5Tenum_insert({}, \"{}\", &({}){{{}}}); ", name, members[i],
                            boolean ? "signed char" : "int", i);
    }
    step.code("{}", code);
    return {id, name};
}

Type some(Step& step, int depth, bool may_vary);

Type compound(Step& step, int depth, bool may_vary) {
    const int members = step.draw.between(1, 4);
    const bool gaps = step.draw.chance(25);
    const bool alike = step.draw.chance(40);
    const Type first = some(step, depth + 1, may_vary);
    std::vector<Type> inner(static_cast<std::size_t>(members), first);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < inner.size(); ++i) {
        if (i > 0 && !alike) inner[i] = some(step, depth + 1, may_vary);
        bytes += H5Tget_size(inner[i].id) + (gaps ? 3 : 0);
    }
    const hid_t id = step.own(H5Tcreate(H5T_COMPOUND, bytes));
    const std::string name = name_of(step, id);
    std::string code = fmt::format("hid_t {} = H5Tcreate(H5T_COMPOUND, {}); ", name, bytes);
    std::size_t at = 0;
    for (std::size_t i = 0; i < inner.size(); ++i) {
        const std::string member(1, static_cast<char>('p' + i));
        H5Tinsert(id, member.c_str(), at, inner[i].id);
        code += fmt::format("H5Tinsert({}, \"{}\", {}, {}); ", name, member, at, inner[i].code);
        at += H5Tget_size(inner[i].id) + (gaps ? 3 : 0);
    }
    step.code("{}", code);
    return {id, name};
}

Type array(Step& step, int depth, bool may_vary) {
    const Type inner = some(step, depth + 1, may_vary);
    const int rank = step.draw.between(1, 2);
    hsize_t dims[2] = {1 + step.draw.below(3), 1 + step.draw.below(3)};
    const hid_t id = step.own(H5Tarray_create2(inner.id, static_cast<unsigned>(rank), dims));
    const std::string name = name_of(step, id);
    step.code("hid_t {} = H5Tarray_create2({}, {}, (hsize_t[]){{{}, {}}});", name, inner.code, rank,
              dims[0], dims[1]);
    return {id, name};
}

Type sequence(Step& step) {
    const Type inner = some_number(step);
    const hid_t id = step.own(H5Tvlen_create(inner.id));
    const std::string name = name_of(step, id);
    step.code("hid_t {} = H5Tvlen_create({});", name, inner.code);
    return {id, name};
}

Type complex(Step& step) {
    const Type part = step.draw.chance(50) ? Type{H5T_NATIVE_FLOAT, "H5T_NATIVE_FLOAT"}
                                           : Type{H5T_NATIVE_DOUBLE, "H5T_NATIVE_DOUBLE"};
    const std::size_t bytes = H5Tget_size(part.id);
    const hid_t id = step.own(H5Tcreate(H5T_COMPOUND, 2 * bytes));
    H5Tinsert(id, "r", 0, part.id);
    H5Tinsert(id, "i", bytes, part.id);
    const std::string name = name_of(step, id);
    step.code(
        "hid_t {0} = H5Tcreate(H5T_COMPOUND, {1}); H5Tinsert({0}, \"r\", 0, {2}); "
        "H5Tinsert({0}, \"i\", {3}, {2});",
        name, 2 * bytes, part.code, bytes);
    return {id, name};
}

Type some(Step& step, int depth, bool may_vary) {
    const std::uint64_t which = step.draw.below(100);
    if (which < 62 || depth > 2) return some_number(step);
    if (which < 66) return bits(step);
    if (which < 69) return opaque(step);
    if (which < 76) return text(step, may_vary);
    if (which < 82) return enumeration(step);
    if (which < 85) return complex(step);
    if (which < 91) return compound(step, depth, may_vary);
    if (which < 95) return array(step, depth, may_vary);
    if (which < 98 && may_vary) return sequence(step);
    return depth == 0 && may_vary ? Type{H5T_STD_REF_OBJ, "H5T_STD_REF_OBJ"} : some_number(step);
}

template <class T>
void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

/// Smooth around `base`, or one of the values that need care.
double some_float(Draw& draw, bool special, double base) {
    if (special && draw.chance(6))
        return draw.any_of({0.0, -0.0, std::numeric_limits<double>::infinity(), std::nan(""),
                            9.96921e36, 1e-300, -1e20});
    return base + draw.unit() * 1e-2;
}

}  // namespace

Type some_number(Step& step) {
    const Named& one = step.draw.any_of(numbers());
    return {one.id, one.code};
}

Type some_type(Step& step, Use use) {
    // Several processes cannot write values of variable length into a dataset.
    return some(step, 0, use == Use::attribute || !step.world.setting.mpio);
}

bool varies(hid_t type) {
    return H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0 || [&] {
        if (H5Tget_class(type) == H5T_COMPOUND) {
            for (int i = 0; i < H5Tget_nmembers(type); ++i) {
                const hid_t inner = H5Tget_member_type(type, static_cast<unsigned>(i));
                const bool found = varies(inner);
                H5Tclose(inner);
                if (found) return true;
            }
        }
        if (H5Tget_class(type) == H5T_ARRAY) {
            const hid_t inner = H5Tget_super(type);
            const bool found = varies(inner);
            H5Tclose(inner);
            return found;
        }
        return false;
    }();
}

bool has_references(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

Type memory_type_of(Step& step, const Type& file_type) {
    const H5T_class_t kind = H5Tget_class(file_type.id);
    const std::uint64_t which = step.draw.below(100);
    if ((kind == H5T_FLOAT || kind == H5T_INTEGER) && which < 20 && step.world.setting.bound == 0)
        return some_number(step);
    if (which < 55 && kind != H5T_REFERENCE && step.world.setting.bound == 0) return file_type;
    const hid_t id = step.own(H5Tget_native_type(file_type.id, H5T_DIR_ASCEND));
    if (id < 0) return file_type;
    const std::string name = name_of(step, id) + "m";
    step.code("hid_t {} = H5Tget_native_type({}, H5T_DIR_ASCEND);", name, file_type.code);
    return {id, name};
}

Values::Values(hid_t type, std::size_t count)
    : type_(H5Tcopy(type)), count_(count), bytes_(count * H5Tget_size(type)) {}

Values::~Values() {
    if (is_read_ && varies(type_)) {
        const hsize_t count = count_;
        const hid_t space = H5Screate_simple(1, &count, nullptr);
        H5Treclaim(type_, space, H5P_DEFAULT, bytes_.data());
        H5Sclose(space);
    }
    H5Tclose(type_);
}

void Values::mark(unsigned char pattern) {
    is_read_ = true;
    const bool plain = !varies(type_) && !has_references(type_);
    std::fill(bytes_.begin(), bytes_.end(),
              static_cast<decltype(bytes_)::value_type>(plain ? pattern : 0));
}

void Values::fill(Draw draw, bool special) {
    const std::size_t step = H5Tget_size(type_);
    const double base = std::floor(draw.unit() * 100) - 50;
    const bool rises = draw.chance(50);
    for (std::size_t i = 0; i < count_; ++i)
        fill_one(type_, bytes_.data() + i * step, draw, special,
                 base + (rises ? 0.25 * static_cast<double>(i) : 0));
}

void Values::fill_one(hid_t type, std::byte* at, Draw& draw, bool special, double base) {
    const std::size_t bytes = H5Tget_size(type);
    const auto members = [&](hid_t inner, std::size_t count, std::byte* to) {
        const std::size_t step = H5Tget_size(inner);
        for (std::size_t i = 0; i < count; ++i) fill_one(inner, to + i * step, draw, special, base);
        H5Tclose(inner);
    };
    switch (H5Tget_class(type)) {
        case H5T_FLOAT: {
            const double value = some_float(draw, special, base);
            if (H5Tequal(type, H5T_NATIVE_FLOAT) > 0) return put(at, static_cast<float>(value));
            if (H5Tequal(type, H5T_NATIVE_DOUBLE) > 0) return put(at, value);
            alignas(8) std::byte wide[8];
            put(wide, special ? value : base);
            H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, wide, nullptr, H5P_DEFAULT);
            std::memcpy(at, wide, bytes);
            return;
        }
        case H5T_ENUM:
            put(at, static_cast<unsigned char>(draw.below(2)));
            return;
        case H5T_COMPOUND:
            for (int i = 0; i < H5Tget_nmembers(type); ++i)
                members(H5Tget_member_type(type, static_cast<unsigned>(i)), 1,
                        at + H5Tget_member_offset(type, static_cast<unsigned>(i)));
            return;
        case H5T_ARRAY: {
            const hid_t inner = H5Tget_super(type);
            return members(inner, bytes / H5Tget_size(inner), at);
        }
        case H5T_REFERENCE:
            return;
        case H5T_VLEN: {
            const hid_t inner = H5Tget_super(type);
            const std::size_t count = draw.below(4);
            varying_.push_back(
                std::make_unique<std::vector<std::byte>>(count * H5Tget_size(inner) + 1));
            put(at, hvl_t{count, count > 0 ? varying_.back()->data() : nullptr});
            return members(inner, count, varying_.back()->data());
        }
        case H5T_STRING:
            if (H5Tis_variable_str(type) > 0) {
                const std::size_t length = draw.below(6);
                varying_.push_back(
                    std::make_unique<std::vector<std::byte>>(length + 1, std::byte{}));
                for (std::size_t i = 0; i < length; ++i)
                    (*varying_.back())[i] = static_cast<std::byte>('a' + draw.below(26));
                return put(at, varying_.back()->data());
            }
            for (std::size_t i = 0; i < bytes; ++i)
                at[i] = static_cast<std::byte>(i + 1 < bytes ? 'a' + draw.below(26) : 0);
            return;
        default:
            for (std::size_t i = 0; i < bytes; ++i)
                at[i] = static_cast<std::byte>(draw.chance(40) ? 0 : draw.below(256));
    }
}

}  // namespace stand_in
