from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RawFloats(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class RawObservation(_message.Message):
    __slots__ = ("shape", "compression_type", "compressed_data", "float_data", "compressed_channel_mapping", "dimension_properties", "observation_type", "name")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_TYPE_FIELD_NUMBER: _ClassVar[int]
    COMPRESSED_DATA_FIELD_NUMBER: _ClassVar[int]
    FLOAT_DATA_FIELD_NUMBER: _ClassVar[int]
    COMPRESSED_CHANNEL_MAPPING_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    shape: bytes
    compression_type: int
    compressed_data: bytes
    float_data: RawFloats
    compressed_channel_mapping: _containers.RepeatedScalarFieldContainer[int]
    dimension_properties: _containers.RepeatedScalarFieldContainer[int]
    observation_type: int
    name: bytes
    def __init__(self, shape: _Optional[bytes] = ..., compression_type: _Optional[int] = ..., compressed_data: _Optional[bytes] = ..., float_data: _Optional[_Union[RawFloats, _Mapping]] = ..., compressed_channel_mapping: _Optional[_Iterable[int]] = ..., dimension_properties: _Optional[_Iterable[int]] = ..., observation_type: _Optional[int] = ..., name: _Optional[bytes] = ...) -> None: ...

class RawAgentInfo(_message.Message):
    __slots__ = ("reward", "done", "max_step_reached", "id", "action_mask", "observations", "group_id", "group_reward")
    REWARD_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MAX_STEP_REACHED_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_MASK_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    GROUP_REWARD_FIELD_NUMBER: _ClassVar[int]
    reward: float
    done: bool
    max_step_reached: bool
    id: int
    action_mask: bytes
    observations: _containers.RepeatedCompositeFieldContainer[RawObservation]
    group_id: int
    group_reward: float
    def __init__(self, reward: _Optional[float] = ..., done: bool = ..., max_step_reached: bool = ..., id: _Optional[int] = ..., action_mask: _Optional[bytes] = ..., observations: _Optional[_Iterable[_Union[RawObservation, _Mapping]]] = ..., group_id: _Optional[int] = ..., group_reward: _Optional[float] = ...) -> None: ...

class RawAction(_message.Message):
    __slots__ = ("vector_actions_deprecated", "continuous_actions", "discrete_actions")
    VECTOR_ACTIONS_DEPRECATED_FIELD_NUMBER: _ClassVar[int]
    CONTINUOUS_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    DISCRETE_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    vector_actions_deprecated: bytes
    continuous_actions: bytes
    discrete_actions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, vector_actions_deprecated: _Optional[bytes] = ..., continuous_actions: _Optional[bytes] = ..., discrete_actions: _Optional[_Iterable[int]] = ...) -> None: ...

class RawPair(_message.Message):
    __slots__ = ("agent_info", "action_info")
    AGENT_INFO_FIELD_NUMBER: _ClassVar[int]
    ACTION_INFO_FIELD_NUMBER: _ClassVar[int]
    agent_info: RawAgentInfo
    action_info: RawAction
    def __init__(self, agent_info: _Optional[_Union[RawAgentInfo, _Mapping]] = ..., action_info: _Optional[_Union[RawAction, _Mapping]] = ...) -> None: ...

class RawFlatRecord(_message.Message):
    __slots__ = ("vector_observation", "visual_observations", "stored_vector_actions", "reward", "done", "max_step_reached", "id", "action_mask", "observations")
    VECTOR_OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    VISUAL_OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    STORED_VECTOR_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    MAX_STEP_REACHED_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_MASK_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    vector_observation: bytes
    visual_observations: _containers.RepeatedScalarFieldContainer[bytes]
    stored_vector_actions: bytes
    reward: float
    done: bool
    max_step_reached: bool
    id: int
    action_mask: bytes
    observations: _containers.RepeatedCompositeFieldContainer[RawObservation]
    def __init__(self, vector_observation: _Optional[bytes] = ..., visual_observations: _Optional[_Iterable[bytes]] = ..., stored_vector_actions: _Optional[bytes] = ..., reward: _Optional[float] = ..., done: bool = ..., max_step_reached: bool = ..., id: _Optional[int] = ..., action_mask: _Optional[bytes] = ..., observations: _Optional[_Iterable[_Union[RawObservation, _Mapping]]] = ...) -> None: ...
