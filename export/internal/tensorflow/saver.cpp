#include "export/internal/tensorflow/saver.h"

namespace belfry::internal {
namespace {

struct Columns {
  std::vector<std::string> names;
  std::vector<c10::ScalarType> dtypes;
  std::vector<TfTensor> values;
};

Columns columns_of(const std::vector<TfVariable>& variables, const std::vector<std::string>& keys) {
  Columns columns{keys, {}, {}};
  for (const TfVariable& variable : variables) {
    columns.dtypes.push_back(variable.value.dtype);
    columns.values.push_back(variable.value);
  }
  return columns;
}

// The checkpoint's prefix, the tensors' names, and that each is whole.
std::vector<TfTensor> selection(GraphDefBuilder& out, const TfTensor& prefix, const Columns& columns) {
  const std::vector<std::string> whole(columns.names.size());
  return {prefix, out.constant(StringTensor(columns.names)), out.constant(StringTensor(whole))};
}

TfTensor restore_all(GraphDefBuilder& out, const TfTensor& prefix, const Columns& columns) {
  TfNode restore = out.node("RestoreV2", "save/RestoreV2");
  restore.inputs(selection(out, prefix, columns)).types("dtypes", columns.dtypes);
  std::vector<TfTensor> assigned;
  for (size_t i = 0; i < columns.names.size(); ++i) {
    const c10::ScalarType dtype = columns.dtypes[i];
    TfNode assign = out.node("AssignVariableOp", "save/AssignVariableOp");
    assign.input(out.variables()[i].handle).input(restore.output(dtype, static_cast<int>(i))).type("dtype", dtype);
    assigned.push_back(assign.output(dtype));
  }
  TfNode all = out.node("NoOp", "save/restore_all");
  for (const TfTensor& one : assigned) all.after(one);
  return all.output(kString);
}

TfTensor save_all(GraphDefBuilder& out, const TfTensor& prefix, const Columns& columns) {
  TfNode save = out.node("SaveV2", "save/SaveV2");
  save.inputs(selection(out, prefix, columns)).inputs(columns.values).types("dtypes", columns.dtypes);
  const TfTensor saved = save.output(kString);
  return out.node("Identity", "save/path").input(prefix).after(saved).type("T", kString).output(kString);
}

}  // namespace

proto::SaverDef add_saver(GraphDefBuilder& out, const std::vector<std::string>& keys) {
  const Columns columns = columns_of(out.variables(), keys);
  const TfTensor prefix = out.constant(StringTensor({"model"}, {}), "save/prefix");
  proto::SaverDef saver;
  saver.set_filename_tensor_name(prefix.name + ":0");
  saver.set_save_tensor_name(save_all(out, prefix, columns).name + ":0");
  saver.set_restore_op_name(restore_all(out, prefix, columns).name);
  saver.set_version(proto::SaverDef::V2);
  return saver;
}

}  // namespace belfry::internal
