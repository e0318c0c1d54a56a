/* Made by metric_golden.py with Keras 3.15.1. */
static const float golden_binary[] = { 1, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1,
                                       1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1,
                                       0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0 };
static const float golden_scores[] = { 0,
                                       1,
                                       0.789890528f,
                                       0.84566021f,
                                       0.0160531644f,
                                       0.40436399f,
                                       0.00114952086f,
                                       0.660830855f,
                                       0.447856635f,
                                       0.689937055f,
                                       0.481368333f,
                                       0.561747849f,
                                       0.909338176f,
                                       0.645924747f,
                                       0.00154994882f,
                                       0.328641862f,
                                       0.987028122f,
                                       0.279261351f,
                                       0.869612753f,
                                       0.682519555f,
                                       0.839597881f,
                                       0.639451742f,
                                       0.0203780942f,
                                       0.360567987f,
                                       0.0780176669f,
                                       0.475871593f,
                                       0.975440741f,
                                       0.742236257f,
                                       0.87166214f,
                                       0.396257401f,
                                       0.444749355f,
                                       0.568331659f,
                                       0.948677838f,
                                       0.638838708f,
                                       0.577367485f,
                                       0.365941912f,
                                       0.552733898f,
                                       0.0248563215f,
                                       0.682450831f,
                                       0.857299924f,
                                       0.0357999615f,
                                       0.432067424f,
                                       0.25583443f,
                                       0.471003622f,
                                       0.556561232f,
                                       0.246466458f,
                                       0.747214377f,
                                       0.345390528f,
                                       0.408449829f,
                                       0.657509565f,
                                       0.660478055f,
                                       0.0781847015f,
                                       0.590488493f,
                                       0.542219698f,
                                       0.370579094f,
                                       0.568386376f,
                                       0.657248378f,
                                       0.672772169f,
                                       0.26005882f,
                                       0.00865858793f };
static const float golden_classes[] = {
    3, 2, 2, 2, 2, 1, 3, 0, 0, 0, 3, 1, 3, 0, 0, 3, 0, 2, 2, 0, 0, 0, 3, 2, 1, 3, 2, 3, 3, 0,
    0, 2, 2, 1, 3, 1, 1, 3, 3, 1, 3, 2, 2, 3, 2, 0, 0, 1, 1, 1, 1, 0, 0, 3, 3, 1, 0, 3, 1, 3
};
static const float golden_outputs[] = {
    0.205950335f,  0.203520566f,  0.222332075f,   0.368196994f,  0.304295123f,  0.0738551393f,
    0.43824634f,   0.183603317f,  0.184344411f,   0.404706031f,  0.184110925f,  0.226838619f,
    0.47688514f,   0.158912778f,  0.218108669f,   0.146093443f,  0.059412472f,  0.510575056f,
    0.301759362f,  0.128253073f,  0.237509042f,   0.323520958f,  0.172636434f,  0.26633358f,
    0.0311911535f, 0.434972405f,  0.25920698f,    0.274629414f,  0.389672637f,  0.229087144f,
    0.34100458f,   0.0402356163f, 0.390191436f,   0.210765451f,  0.289079845f,  0.109963275f,
    0.158219963f,  0.254767507f,  0.172260433f,   0.414752096f,  0.197120711f,  0.180034354f,
    0.26999855f,   0.352846384f,  0.34671244f,    0.393412262f,  0.180902332f,  0.0789729133f,
    0.178235292f,  0.220202327f,  0.222317651f,   0.379244685f,  0.307288438f,  0.251862347f,
    0.250829011f,  0.190020233f,  0.340247929f,   0.244751811f,  0.276922375f,  0.138077825f,
    0.117083147f,  0.252853632f,  0.118798368f,   0.511264801f,  0.31184265f,   0.192150608f,
    0.316560447f,  0.17944625f,   0.194231942f,   0.226772666f,  0.361445904f,  0.217549548f,
    0.224270239f,  0.23045367f,   0.250239879f,   0.295036227f,  0.58299762f,   0.202857837f,
    0.162455618f,  0.0516889729f, 0.710587502f,   0.0246759076f, 0.188966751f,  0.0757698193f,
    0.253102452f,  0.153428435f,  0.257398427f,   0.336070687f,  0.230670005f,  0.061689008f,
    0.328412145f,  0.37922886f,   0.234849915f,   0.302304447f,  0.380391479f,  0.0824541152f,
    0.222766876f,  0.444907248f,  0.266824991f,   0.0655009449f, 0.0425409041f, 0.308056355f,
    0.30142498f,   0.347977757f,  0.342341244f,   0.067957513f,  0.499796957f,  0.0899042338f,
    0.094135426f,  0.23823075f,   0.0059868372f,  0.661646962f,  0.0659353957f, 0.288546443f,
    0.228345975f,  0.417172223f,  0.328263193f,   0.349273503f,  0.140159488f,  0.182303742f,
    0.258129954f,  0.298300147f,  0.123066857f,   0.320502937f,  0.0781369209f, 0.199928507f,
    0.61117959f,   0.110754907f,  0.10769061f,    0.430313617f,  0.346397698f,  0.115598015f,
    0.260444492f,  0.270260841f,  0.195832849f,   0.273461848f,  0.384794921f,  0.146259725f,
    0.0105274757f, 0.458417922f,  0.267618984f,   0.417234808f,  0.0748668313f, 0.240279362f,
    0.420074701f,  0.252985984f,  0.133986503f,   0.192952827f,  0.171937168f,  0.295837134f,
    0.176971838f,  0.355253845f,  0.313094229f,   0.226900965f,  0.148320913f,  0.311683893f,
    0.477384865f,  0.297527671f,  0.0897702649f,  0.135317236f,  0.353476644f,  0.198601753f,
    0.112758055f,  0.335163593f,  0.0432975665f,  0.210816056f,  0.530700982f,  0.215185389f,
    0.390142381f,  0.0320955291f, 0.50503099f,    0.0727311298f, 0.020660514f,  0.312085122f,
    0.258765876f,  0.408488482f,  0.0653526708f,  0.171548292f,  0.560429096f,  0.202669963f,
    0.463964999f,  0.363847077f,  0.00625811331f, 0.165929884f,  0.446508288f,  0.178818032f,
    0.192371279f,  0.182302445f,  0.103481866f,   0.145553157f,  0.318120211f,  0.432844818f,
    0.0268426668f, 0.649542809f,  0.307201266f,   0.0164132435f, 0.0589702576f, 0.626621246f,
    0.0856794566f, 0.228729039f,  0.121573895f,   0.54773432f,   0.204703242f,  0.125988513f,
    0.403060108f,  0.314630508f,  0.234967992f,   0.0473414175f, 0.378048688f,  0.141838938f,
    0.250212401f,  0.229899913f,  0.218390286f,   0.255863667f,  0.270633578f,  0.255112529f,
    0.226682976f,  0.0492509902f, 0.174558774f,   0.54950726f,   0.0994779989f, 0.458605111f,
    0.352674663f,  0.0892422274f, 0.344419092f,   0.213300854f,  0.314962447f,  0.127317652f,
    0.301092088f,  0.335331231f,  0.152802974f,   0.210773781f,  0.152533665f,  0.389438808f,
    0.107841134f,  0.350186467f,  0.137023717f,   0.347453505f,  0.148626924f,  0.366895854f
};
static const float golden_targets[] = {
    0.748367429f,   -0.0292066541f, 0.248377025f,  -0.314383924f,  -0.0628529936f, -0.877171934f,
    0.0395329781f,  -0.101691708f,  -0.402034283f, -0.654245794f,  -0.318672568f,  -0.410298944f,
    -0.274924606f,  0.617508113f,   0.791199148f,  0.830066621f,   -0.156888753f,  0.796895027f,
    0.174155191f,   0.993222177f,   -0.751474321f, 0.513663113f,   0.176537141f,   0.0291320402f,
    0.516431212f,   0.666563451f,   0.662175655f,  -0.311762124f,  -0.238645881f,  0.19057025f,
    -0.914256096f,  0.629410565f,   0.172046199f,  -0.112990558f,  0.276269764f,   0.910703182f,
    0.608422279f,   0.312299371f,   -0.58491534f,  0.943472028f,   -0.2257725f,    0.810472608f,
    0.00210924749f, 0.344816566f,   0.774805963f,  -0.883228481f,  -0.410506696f,  -0.644612849f,
    -0.906868756f,  -0.316383451f,  0.830801487f,  -0.494567454f,  -0.773924351f,  0.88368988f,
    -0.0133780185f, -0.0564179569f, 0.3756935f,    0.634169638f,   -0.546185374f,  -0.595294297f,
    -0.151002437f,  0.6951859f,     0.854242802f,  -0.619193256f,  0.378918409f,   -0.108262643f,
    0.756220579f,   -0.408777803f,  -0.459592313f, -0.956136227f,  0.742701769f,   -0.667880416f,
    -0.442937613f,  -0.50733763f,   0.84410435f,   -0.836743653f,  -0.326683104f,  0.360870063f,
    -0.668869674f,  0.155317008f,   -0.150685847f, -0.973719835f,  0.21320577f,    -0.306166232f,
    -0.576946199f,  0.950300038f,   0.677964449f,  -0.102581382f,  -0.357501924f,  -0.971804261f,
    0.456139684f,   -0.467352897f,  0.0233799051f, 0.252038151f,   0.505811989f,   -0.683707654f,
    -0.817366779f,  0.548134327f,   -0.897084117f, -0.186765343f,  -0.927953005f,  -0.58442229f,
    -0.621204615f,  0.679801643f,   0.485883445f,  -0.510647535f,  0.172336191f,   -0.0108023752f,
    -0.817676604f,  -0.284364849f,  0.501401961f,  -0.7424649f,    -0.520198643f,  -0.287151128f,
    -0.991956413f,  0.546907008f,   -0.209816337f, 0.277333409f,   0.0520685576f,  0.558735788f,
    0.317690372f,   -0.202485755f,  -0.752676725f, -0.151987672f,  -0.989424706f,  -0.843668163f,
    0.659616828f,   0.0335383341f,  0.5778898f,    0.478221804f,   0.0555987172f,  0.454590946f,
    0.887645841f,   0.896852195f,   -0.491137087f, 0.816767752f,   -0.0579485744f, -0.583233356f,
    -0.179704592f,  0.167862236f,   0.777998686f,  0.80674845f,    0.11955075f,    0.61432296f,
    0.0582307205f,  -0.809845865f,  -0.128522694f, 0.398332745f,   0.509095311f,   0.355707049f,
    -0.995790303f,  0.364674956f,   0.960042477f,  -0.573992252f,  0.42643398f,    -0.604621768f,
    0.532978594f,   0.871593893f,   -0.58359766f,  0.658681214f,   -0.401492715f,  0.761409998f,
    -0.936450243f,  0.51046139f,    -0.569276392f, -0.266226113f,  -0.684582114f,  0.614862025f,
    -0.597892284f,  -0.290842205f,  -0.268804491f, -0.464954197f,  -0.552154779f,  0.495220244f,
    0.154765427f,   0.547725976f,   -0.68608886f,  0.0901288837f,  -0.840589762f,  -0.803176999f,
    -0.13605547f,   0.184499696f,   0.433284789f,  0.136577204f,   -0.845898449f,  -0.246207491f,
    0.475854844f,   0.901102364f,   0.81065321f,   -0.0168193933f, 0.871052146f,   -0.49723345f,
    0.233836293f,   0.525637448f,   -0.99664247f,  -0.835759819f,  -0.357642174f,  -0.567300379f,
    -0.650485039f,  0.103680849f,   0.279257417f,  -0.0299455058f, 0.399117351f,   -0.363662183f,
    -0.268058032f,  -0.734007776f,  -0.566111982f, -0.0263709482f, 0.652810335f,   -0.05289644f,
    0.76635319f,    0.873934269f,   0.542915821f,  0.558027089f,   -0.970712423f,  0.385711908f,
    -0.931359291f,  0.509749234f,   -0.150139973f, -0.832718372f,  0.860877752f,   -0.629585624f,
    0.920769811f,   0.568138003f,   0.845387459f,  0.252013206f,   -0.29644078f,   0.398241818f,
    -0.0790283158f, 0.469269067f,   0.907502055f,  -0.886514723f,  -0.668887377f,  -0.139283568f,
    -0.94510299f,   -0.280794352f,  -0.153643906f, -0.650942564f,  -0.916023552f,  0.270191759f
};
static const float golden_marks[] = {
    0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0,
    0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0,
    1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1,
    1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0,
    0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1,
    0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0,
    1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0,
    0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0
};
static const struct golden goldens[] = {
    { "\"accuracy\"", "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.666666687 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryAccuracy\", \"config\": {\"name\": "
      "\"binary_accuracy\", \"dtype\": \"float32\", \"threshold\": 0.3}, \"registered_name\": "
      "null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.666666687 },
    { "\"AUC\"", "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.78125006 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_20\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 20, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.784598231 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_1\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"PR\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.720045924 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_2\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"PR\", \"summation_method\": "
      "\"minoring\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.695542097 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_3\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"majoring\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.784598231 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_4\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": true}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.786272347 },
    { "\"Precision\"", "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.625 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_1\", \"dtype\": \"float32\", \"thresholds\": 0.6, \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.708333313 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": null, \"class_id\": "
      "null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.714285731 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_1\", \"dtype\": \"float32\", \"thresholds\": 0.6, \"top_k\": null, \"class_id\": "
      "null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.607142866 },
    { "\"binary_crossentropy\"", "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1,
      0.991739929 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryCrossentropy\", \"config\": "
      "{\"name\": \"binary_crossentropy\", \"dtype\": \"float32\", \"from_logits\": false, "
      "\"label_smoothing\": 0.1}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 1.02093768 },
    { "\"acc\"", "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1,
      0.683333337 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SparseCategoricalAccuracy\", \"config\": "
      "{\"name\": \"sparse_categorical_accuracy\", \"dtype\": \"float32\"}, \"registered_name\": "
      "null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.683333337 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SparseTopKCategoricalAccuracy\", "
      "\"config\": {\"name\": \"sparse_top_k_categorical_accuracy\", \"dtype\": \"float32\", "
      "\"k\": 2}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.883333325 },
    { "\"sparse_categorical_crossentropy\"", "sparse_categorical_crossentropy", golden_outputs,
      golden_classes, 4, 0, 1, 0.995263875 },
    { "\"mse\"", "mse", golden_outputs, golden_targets, 4, 0, 1, 0.417737067 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"MeanAbsoluteError\", \"config\": "
      "{\"name\": \"mean_absolute_error\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.543071508 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"RootMeanSquaredError\", \"config\": "
      "{\"name\": \"root_mean_squared_error\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.646325827 },
    { "\"cosine_similarity\"", "mse", golden_outputs, golden_targets, 4, 0, 1, 0.0204700436 },
    { "\"accuracy\"", "mse", golden_outputs, golden_targets, 4, 0, 1, 0.333333343 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"CategoricalAccuracy\", \"config\": "
      "{\"name\": \"categorical_accuracy\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.333333343 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TopKCategoricalAccuracy\", \"config\": "
      "{\"name\": \"top_k_categorical_accuracy\", \"dtype\": \"float32\", \"k\": 2}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.600000024 },
    { "\"TruePositives\"", "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 20 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TrueNegatives\", \"config\": {\"name\": "
      "\"true_negatives\", \"dtype\": \"float32\", \"thresholds\": 0.4}, \"registered_name\": "
      "null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 16 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalsePositives\", \"config\": {\"name\": "
      "\"false_positives\", \"dtype\": \"float32\", \"thresholds\": null}, \"registered_name\": "
      "null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 12 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalseNegatives\", \"config\": {\"name\": "
      "\"false_negatives\", \"dtype\": \"float32\", \"thresholds\": null}, \"registered_name\": "
      "null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 8 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SensitivityAtSpecificity\", \"config\": "
      "{\"name\": \"sensitivity_at_specificity\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 200, \"specificity\": 0.7}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.607142866 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SpecificityAtSensitivity\", \"config\": "
      "{\"name\": \"specificity_at_sensitivity\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 30, \"sensitivity\": 0.7}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.625 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"PrecisionAtRecall\", \"config\": "
      "{\"name\": \"precision_at_recall\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 200, \"recall\": 0.6}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.708333313 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"RecallAtPrecision\", \"config\": "
      "{\"name\": \"recall_at_precision\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 200, \"precision\": 0.8}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.5 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"RecallAtPrecision\", \"config\": "
      "{\"name\": \"recall_at_precision_1\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 200, \"precision\": 1.0}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryIoU\", \"config\": "
      "{\"target_class_ids\": [0, 1], \"threshold\": 0.5, \"name\": \"binary_io_u\", \"dtype\": "
      "\"int64\"}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.5 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryIoU\", \"config\": "
      "{\"target_class_ids\": [1], \"threshold\": 0.3, \"name\": \"binary_io_u_1\", \"dtype\": "
      "\"int64\"}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.574468017 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": 0.5}, "
      "\"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.666666627 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": \"macro\", \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.682177901 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": \"micro\", \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.683333278 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FBetaScore\", \"config\": {\"name\": "
      "\"fbeta_score\", \"dtype\": \"float32\", \"average\": \"weighted\", \"beta\": 2.0, "
      "\"threshold\": 0.4}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.422000289 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"OneHotMeanIoU\", \"config\": "
      "{\"num_classes\": 4, \"name\": \"one_hot_mean_io_u\", \"dtype\": \"int64\", "
      "\"ignore_class\": null, \"sparse_y_pred\": false, \"axis\": -1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.518123448 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"MeanIoU\", \"config\": {\"num_classes\": "
      "4, \"name\": \"mean_io_u\", \"dtype\": \"int64\", \"ignore_class\": null, "
      "\"sparse_y_true\": true, \"sparse_y_pred\": false, \"axis\": -1}, \"registered_name\": "
      "null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.518123448 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"IoU\", \"config\": {\"name\": \"io_u\", "
      "\"dtype\": \"int64\", \"num_classes\": 4, \"target_class_ids\": [1, 3], \"ignore_class\": "
      "null, \"sparse_y_true\": true, \"sparse_y_pred\": false, \"axis\": -1}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.507675469 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"OneHotIoU\", \"config\": "
      "{\"num_classes\": 4, \"target_class_ids\": [0, 2], \"name\": \"one_hot_io_u\", \"dtype\": "
      "\"int64\", \"ignore_class\": null, \"sparse_y_pred\": false, \"axis\": -1}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.528571486 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"MeanIoU\", \"config\": {\"num_classes\": "
      "4, \"name\": \"mean_io_u_1\", \"dtype\": \"int64\", \"ignore_class\": 2, \"sparse_y_true\": "
      "true, \"sparse_y_pred\": false, \"axis\": -1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.419429332 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"OneHotIoU\", \"config\": "
      "{\"num_classes\": 4, \"target_class_ids\": [0, 2], \"name\": \"one_hot_io_u_1\", \"dtype\": "
      "\"int64\", \"ignore_class\": 0, \"sparse_y_pred\": false, \"axis\": -1}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.285714298 },
    { "\"R2Score\"", "mse", golden_outputs, golden_targets, 4, 0, 1, -0.24043557 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": \"variance_weighted_average\", "
      "\"num_regressors\": 0}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, -0.238087356 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": \"uniform_average\", "
      "\"num_regressors\": 3}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, -0.25620389 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"PearsonCorrelation\", \"config\": "
      "{\"name\": \"pearson_correlation\", \"dtype\": \"float32\", \"axis\": -1}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.0787538141 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"ConcordanceCorrelation\", \"config\": "
      "{\"name\": \"concordance_correlation\", \"dtype\": \"float32\", \"axis\": -1}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.00871238671 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"LogCoshError\", \"config\": {\"name\": "
      "\"logcosh\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.184592813 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"MeanAbsolutePercentageError\", "
      "\"config\": {\"name\": \"mean_absolute_percentage_error\", \"dtype\": \"float32\"}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 215.558212 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"MeanSquaredLogarithmicError\", "
      "\"config\": {\"name\": \"mean_squared_logarithmic_error\", \"dtype\": \"float32\"}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.0663674176 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Hinge\", \"config\": {\"name\": "
      "\"hinge\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.998536766 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SquaredHinge\", \"config\": {\"name\": "
      "\"squared_hinge\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 1.0231806 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"KLDivergence\", \"config\": {\"name\": "
      "\"kl_divergence\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 1.02066684 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Poisson\", \"config\": {\"name\": "
      "\"poisson\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 1, 0.187139362 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_2\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": 2, \"class_id\": "
      "null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.441666663 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_2\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": 2, \"class_id\": "
      "null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.883333325 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_3\", \"dtype\": \"float32\", \"thresholds\": 0.25, \"top_k\": 3, \"class_id\": "
      "null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.916666687 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_3\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": null, "
      "\"class_id\": 1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.75 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_4\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": 2, \"class_id\": "
      "3}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.571428597 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_4\", \"dtype\": \"float32\", \"thresholds\": 0.2, \"top_k\": null, \"class_id\": "
      "0}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.9375 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_5\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": null, \"class_id\": "
      "0}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.714285731 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_5\", \"dtype\": \"float32\", \"thresholds\": null, \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.923076928 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SensitivityAtSpecificity\", \"config\": "
      "{\"name\": \"sensitivity_at_specificity_1\", \"dtype\": \"float32\", \"class_id\": 2, "
      "\"num_thresholds\": 200, \"specificity\": 0.7}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.769230783 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"SpecificityAtSensitivity\", \"config\": "
      "{\"name\": \"specificity_at_sensitivity_1\", \"dtype\": \"float32\", \"class_id\": null, "
      "\"num_thresholds\": 200, \"sensitivity\": 0.7}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.872222245 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"PrecisionAtRecall\", \"config\": "
      "{\"name\": \"precision_at_recall_1\", \"dtype\": \"float32\", \"class_id\": 0, "
      "\"num_thresholds\": 30, \"recall\": 0.6}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.571428597 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"RecallAtPrecision\", \"config\": "
      "{\"name\": \"recall_at_precision_2\", \"dtype\": \"float32\", \"class_id\": 3, "
      "\"num_thresholds\": 200, \"precision\": 0.6}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.944444418 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"CategoricalHinge\", \"config\": "
      "{\"name\": \"categorical_hinge\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.920161128 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"CategoricalCrossentropy\", \"config\": "
      "{\"name\": \"categorical_crossentropy\", \"dtype\": \"float32\", \"from_logits\": false, "
      "\"label_smoothing\": 0.1, \"axis\": -1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 1.05579114 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_5\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": true, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.508721769 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_6\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 30, \"curve\": \"PR\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": true, \"num_labels\": 4, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.476380378 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_7\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": true, \"num_labels\": null, \"label_weights\": "
      "{\"class_name\": \"__tensor__\", \"config\": {\"value\": [0.5, 0.0, 1.0, 2.0], \"dtype\": "
      "\"float32\"}}, \"from_logits\": false}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.489559799 },
    { "\"AUC\"", "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.875092566 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_9\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": true, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false}, \"registered_name\": null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.86931932 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryAccuracy\", \"config\": {\"name\": "
      "\"binary_accuracy\", \"dtype\": \"float32\", \"threshold\": 0.4}, \"registered_name\": "
      "null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.808333337 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TruePositives\", \"config\": {\"name\": "
      "\"true_positives_1\", \"dtype\": \"float32\", \"thresholds\": 0.3}, \"registered_name\": "
      "null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 47 },
    { "\"mse\"", "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.136457235 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"RootMeanSquaredError\", \"config\": "
      "{\"name\": \"root_mean_squared_error\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.369401187 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"CosineSimilarity\", \"config\": "
      "{\"name\": \"cosine_similarity\", \"dtype\": \"float32\"}, \"registered_name\": null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.676258683 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"BinaryCrossentropy\", \"config\": "
      "{\"name\": \"binary_crossentropy\", \"dtype\": \"float32\", \"from_logits\": false, "
      "\"label_smoothing\": 0}, \"registered_name\": null}",
      "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1, 0.426372588 },
    { "\"accuracy\"", "categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 1,
      0.683333337 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_6\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.5, 0.8], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 3, 0.540000021 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_6\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.5, 0.8], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 1, 3, 0.625 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_6\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.5, 0.8], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 2, 3, 0.899999976 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_6\", \"dtype\": \"float32\", \"thresholds\": [0.6, 0.3], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 2, 0.607142866 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_6\", \"dtype\": \"float32\", \"thresholds\": [0.6, 0.3], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 1, 2, 0.964285731 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_7\", \"dtype\": \"float32\", \"thresholds\": [0.4], \"top_k\": null, "
      "\"class_id\": null}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.600000024 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TruePositives\", \"config\": {\"name\": "
      "\"true_positives_2\", \"dtype\": \"float32\", \"thresholds\": [0.3, 0.6]}, "
      "\"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 2, 27 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TruePositives\", \"config\": {\"name\": "
      "\"true_positives_2\", \"dtype\": \"float32\", \"thresholds\": [0.3, 0.6]}, "
      "\"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 1, 2, 17 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalseNegatives\", \"config\": {\"name\": "
      "\"false_negatives_1\", \"dtype\": \"float32\", \"thresholds\": [0.3, 0.6]}, "
      "\"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 2, 1 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalseNegatives\", \"config\": {\"name\": "
      "\"false_negatives_1\", \"dtype\": \"float32\", \"thresholds\": [0.3, 0.6]}, "
      "\"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 1, 2, 11 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalsePositives\", \"config\": {\"name\": "
      "\"false_positives_1\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.2, 0.3, 0.4]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 4, 113 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalsePositives\", \"config\": {\"name\": "
      "\"false_positives_1\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.2, 0.3, 0.4]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 1, 4, 78 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalsePositives\", \"config\": {\"name\": "
      "\"false_positives_1\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.2, 0.3, 0.4]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 2, 4, 44 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FalsePositives\", \"config\": {\"name\": "
      "\"false_positives_1\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.2, 0.3, 0.4]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 3, 4, 19 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TrueNegatives\", \"config\": {\"name\": "
      "\"true_negatives_1\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.3]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 2, 53 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"TrueNegatives\", \"config\": {\"name\": "
      "\"true_negatives_1\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.3]}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 1, 2, 87 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_8\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.3], \"top_k\": 2, "
      "\"class_id\": 1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 2, 0.342857152 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Precision\", \"config\": {\"name\": "
      "\"precision_8\", \"dtype\": \"float32\", \"thresholds\": [0.1, 0.3], \"top_k\": 2, "
      "\"class_id\": 1}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 1, 2, 0.428571433 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_7\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.3, 0.4], \"top_k\": 3, "
      "\"class_id\": null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 3, 0.949999988 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_7\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.3, 0.4], \"top_k\": 3, "
      "\"class_id\": null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 1, 3, 0.783333361 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_7\", \"dtype\": \"float32\", \"thresholds\": [0.2, 0.3, 0.4], \"top_k\": 3, "
      "\"class_id\": null}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 2, 3, 0.383333325 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_8\", \"dtype\": \"float32\", \"thresholds\": [0.0, 0.5, 1.0], \"top_k\": null, "
      "\"class_id\": 2}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 3, 1 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_8\", \"dtype\": \"float32\", \"thresholds\": [0.0, 0.5, 1.0], \"top_k\": null, "
      "\"class_id\": 2}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 1, 3, 0.307692319 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"Recall\", \"config\": {\"name\": "
      "\"recall_8\", \"dtype\": \"float32\", \"thresholds\": [0.0, 0.5, 1.0], \"top_k\": null, "
      "\"class_id\": 2}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 2, 3, 0 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 4, 0.68749994 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 1, 4, 0.642857134 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 2, 4, 0.695652127 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": null}, "
      "\"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 3, 4, 0.702702641 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FBetaScore\", \"config\": {\"name\": "
      "\"fbeta_score\", \"dtype\": \"float32\", \"average\": null, \"beta\": 0.5, \"threshold\": "
      "0.3}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 0, 4, 0.580357075 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FBetaScore\", \"config\": {\"name\": "
      "\"fbeta_score\", \"dtype\": \"float32\", \"average\": null, \"beta\": 0.5, \"threshold\": "
      "0.3}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 1, 4, 0.463917434 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FBetaScore\", \"config\": {\"name\": "
      "\"fbeta_score\", \"dtype\": \"float32\", \"average\": null, \"beta\": 0.5, \"threshold\": "
      "0.3}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 2, 4, 0.588235259 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"FBetaScore\", \"config\": {\"name\": "
      "\"fbeta_score\", \"dtype\": \"float32\", \"average\": null, \"beta\": 0.5, \"threshold\": "
      "0.3}, \"registered_name\": null}",
      "sparse_categorical_crossentropy", golden_outputs, golden_classes, 4, 3, 4, 0.765306056 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": 0.25}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 4, 0.377358437 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": 0.25}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 1, 4, 0.610169411 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": 0.25}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 2, 4, 0.517241299 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"F1Score\", \"config\": {\"name\": "
      "\"f1_score\", \"dtype\": \"float32\", \"average\": null, \"threshold\": 0.25}, "
      "\"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 3, 4, 0.499999881 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 0}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 4, -0.319219589 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 0}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 1, 4, -0.156738758 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 0}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 2, 4, -0.21799171 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 0}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 3, 4, -0.267792225 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 2}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 0, 4, -0.330352306 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 2}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 1, 4, -0.16650033 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 2}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 2, 4, -0.228270054 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"R2Score\", \"config\": {\"name\": "
      "\"r2_score\", \"dtype\": \"float32\", \"class_aggregation\": null, \"num_regressors\": 2}, "
      "\"registered_name\": null}",
      "mse", golden_outputs, golden_targets, 4, 3, 4, -0.278490901 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_10\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 5, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false, \"thresholds\": [0.2, 0.3, 0.7]}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.795200884 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_11\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 4, \"curve\": \"PR\", \"summation_method\": "
      "\"majoring\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false, \"thresholds\": [0.25, 0.5]}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.622357905 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_12\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 6, \"curve\": \"PR\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": true, \"num_labels\": null, \"label_weights\": null, "
      "\"from_logits\": false, \"thresholds\": [0.1, 0.2, 0.25, 0.4]}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.465092242 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_13\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"PRGAIN\", "
      "\"summation_method\": \"interpolation\", \"multi_label\": false, \"num_labels\": null, "
      "\"label_weights\": null, \"from_logits\": false}, \"registered_name\": null}",
      "binary_crossentropy", golden_scores, golden_binary, 1, 0, 1, 0.588306487 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_14\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 20, \"curve\": \"PRGAIN\", "
      "\"summation_method\": \"minoring\", \"multi_label\": true, \"num_labels\": null, "
      "\"label_weights\": null, \"from_logits\": false}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.0157761425 },
    { "{\"module\": \"keras.metrics\", \"class_name\": \"AUC\", \"config\": {\"name\": \"auc_15\", "
      "\"dtype\": \"float32\", \"num_thresholds\": 200, \"curve\": \"ROC\", \"summation_method\": "
      "\"interpolation\", \"multi_label\": false, \"num_labels\": null, \"label_weights\": "
      "{\"class_name\": \"__tensor__\", \"config\": {\"value\": [0.5, 0.0, 1.0, 2.0], \"dtype\": "
      "\"float32\"}}, \"from_logits\": false}, \"registered_name\": null}",
      "binary_focal_crossentropy", golden_outputs, golden_marks, 4, 0, 1, 0.490203261 },
};
